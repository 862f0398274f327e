"""The chat: page, transcript, messages, composer."""
