"""A translation explained: every matrix of the pass that made it."""
