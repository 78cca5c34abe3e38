"""What a reading looks like: text, notebook, pictures, files."""
