"""Measurements on a model: whether it leaks, how two sentences compare."""
