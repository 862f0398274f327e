"""Chats to and from files. Knows neither the store nor the window."""
