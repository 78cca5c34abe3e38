"""What a pass computes, recorded by name: traces, edits, gradients, the first number that is not finite."""
