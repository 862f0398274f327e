"""The programs that measure the window."""
