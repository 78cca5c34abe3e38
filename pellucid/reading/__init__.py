"""One translation in detail: its steps, its words, where heads looked, the path of the search."""
