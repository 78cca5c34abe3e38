"""Text to token ids and back: preparing text, and vocabularies, ready-made or learned."""
