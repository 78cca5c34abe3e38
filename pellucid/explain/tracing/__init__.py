"""What a trace can change and find: edits, and gradients by name."""
