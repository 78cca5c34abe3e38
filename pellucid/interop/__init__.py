"""Models of other programs: take them in, give ours out."""
