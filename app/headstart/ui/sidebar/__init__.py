"""The left side: chats, tags, search."""
