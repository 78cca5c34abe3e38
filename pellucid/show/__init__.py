"""What a reading looks like: text, notebook, pictures, files."""

# The views register themselves for the data that they show: with any module of this room they are all there.
from pellucid.show import probe_text, reading_text, record_text, worked_text

__all__ = ["probe_text", "reading_text", "record_text", "worked_text"]
