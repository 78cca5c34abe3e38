"""The views that register themselves for what they show: whoever imports this has them all."""

from pellucid.show import notebook, reading_text, record_text, worked_text

__all__ = ["notebook", "reading_text", "record_text", "worked_text"]
