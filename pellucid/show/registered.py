"""The views, which register themselves for the data that they show: import this module to have them all."""

from pellucid.show import compare, leak, reading_text, record_text, worked_text

__all__ = ["compare", "leak", "reading_text", "record_text", "worked_text"]
