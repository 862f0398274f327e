"""Chats of other programs, read from the files that these export."""
