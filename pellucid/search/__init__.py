"""Search and sampling, whatever computes the next token's probabilities."""
