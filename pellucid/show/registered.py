"""Import this module to register all views.

`pellucid.show` itself imports no view, so that a command that only wraps text starts without torch.
"""

from pellucid.show import probe_text, reading_text, record_text, worked_text

__all__ = ["probe_text", "reading_text", "record_text", "worked_text"]
