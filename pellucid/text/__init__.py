"""Text to token ids and back: preparation, the vocabulary, and learning one."""
