"""What runs a model: paged, with a state, and what proves them."""
