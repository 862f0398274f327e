"""The messages of a chat as the window shows them, the answer that is being written included."""
