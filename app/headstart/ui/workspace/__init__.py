"""The working folder of a chat in the window."""
