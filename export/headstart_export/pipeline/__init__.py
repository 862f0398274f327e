"""An export, step by step."""
