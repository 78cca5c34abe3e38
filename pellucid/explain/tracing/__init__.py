"""What a trace can change and find: edits, gradients, the first number that is none."""
