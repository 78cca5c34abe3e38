"""The views that register themselves for what they show: whoever imports this has them all."""

from pellucid.show import compare, leak, notebook, reading_text, record_text

__all__ = ["compare", "leak", "notebook", "reading_text", "record_text"]
