"""What needs a whole pass to be seen: edits in all passes, the first number that is not finite, sizes."""
