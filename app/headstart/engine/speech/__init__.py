"""Speech as text: decoded recordings, the pauses in them, and a model that writes down what is said."""
