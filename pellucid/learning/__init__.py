"""Training: from parallel text to a model folder."""
