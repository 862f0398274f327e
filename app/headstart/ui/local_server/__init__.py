"""The page of the local server."""
