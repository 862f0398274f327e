"""Answers spoken: announced to screen readers, and read aloud."""
