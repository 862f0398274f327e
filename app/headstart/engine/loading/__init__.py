"""Loading of models, and the trials that prove them."""
