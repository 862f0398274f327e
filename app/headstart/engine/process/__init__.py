"""The engine's process, and its client."""
