"""The explanations that these tests share."""

from readings import broken, hindi, pieces, spanish

__all__ = ["broken", "hindi", "pieces", "spanish"]
