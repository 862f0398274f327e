"""Loading of models: options, the memory that they take, and the trials that prove them."""
