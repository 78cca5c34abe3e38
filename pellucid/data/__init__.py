"""Parallel text: from files (corpus), as ids (examples), in batches (batch); known corpora (catalog)."""
