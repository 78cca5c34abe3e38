"""Models of other programs: import them, and export ours."""
