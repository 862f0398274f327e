"""Chats as files: saved, printed, brought in."""
