"""Chats to and from files."""
