"""The views, which register themselves for the data that they show: import this module to have them all.

The room itself imports none of them: a command that only wraps text starts without torch.
"""

from pellucid.show import probe_text, reading_text, record_text, worked_text

__all__ = ["probe_text", "reading_text", "record_text", "worked_text"]
