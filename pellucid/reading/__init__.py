"""One translation read back: its steps, its words, where heads looked, the path of the search."""
