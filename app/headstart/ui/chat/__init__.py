"""The chat page: transcript, messages and composer."""
