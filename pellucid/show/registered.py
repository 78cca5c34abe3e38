"""Import this module to register all views.

`pellucid.show` itself imports no view, so that a command that only wraps text starts without torch.
"""

from pellucid.show import ledger_text, probe_text, reading_text, record_text, worked_text

__all__ = ["ledger_text", "probe_text", "reading_text", "record_text", "worked_text"]
