"""The views, which register themselves for the data that they show: import this module to have them all."""

from pellucid.show import probe_text, reading_text, record_text, worked_text

__all__ = ["probe_text", "reading_text", "record_text", "worked_text"]
