"""The views, which register themselves for the data that they show: import this module to have them all."""

from pellucid.show import reading_text, record_text

__all__ = ["reading_text", "record_text"]
