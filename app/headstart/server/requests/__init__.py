"""Bodies of requests, and their translation into requests to the engine."""
