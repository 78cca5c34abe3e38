"""Parallel text: from files (corpus), as ids (examples), in batches (batch), and where to get it (catalog)."""
