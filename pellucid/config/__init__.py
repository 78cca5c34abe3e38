"""Settings: what may be set, between which limits, and the TOML file that sets it."""
