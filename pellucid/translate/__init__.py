"""Sentences in, translations out: search, scores, and how good they are."""
