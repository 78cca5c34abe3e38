"""Leaks: whether a prediction depends on words that come after it."""
