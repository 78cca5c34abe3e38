"""Settings: their names, types and limits, and the TOML file that contains them."""
