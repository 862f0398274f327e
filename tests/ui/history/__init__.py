"""Tests of the sidebar, and of chats that are saved, found, imported and encrypted."""
