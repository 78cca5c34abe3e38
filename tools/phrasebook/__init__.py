"""The grammar that writes the demo's corpus: tables of words in four languages, and patterns of sentences."""
