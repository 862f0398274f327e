"""Text recognition in pictures: the boxes of lines, their characters, and the order to read them in."""
