"""One word in two sentences."""
