"""How readings are shown: as text, in notebooks, as pictures, as files."""
