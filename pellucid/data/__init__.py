"""Parallel text: read from files (corpus), encoded as ids (examples), in batches (batch); known corpora
(catalog) and the demo's corpus (phrasebook)."""
