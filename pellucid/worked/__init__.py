"""Worked examples: attention from plain arrays, stage by stage, and claims judged."""
