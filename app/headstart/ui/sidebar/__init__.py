"""The sidebar: chats, projects, tags and search."""
