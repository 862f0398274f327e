"""Tests of chats that come from elsewhere, and go there."""
