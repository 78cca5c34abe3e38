"""Measurements on a model: whether it leaks, and how a word differs between two sentences."""
