"""The window: the only part of the application that imports Qt."""
