"""Models for other tasks than chat: they make vectors, or read text in pictures, or write down speech."""
