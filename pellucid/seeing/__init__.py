"""Record the tensors of a pass by name, change them, compute their gradients, and find the first one that is
not finite."""
