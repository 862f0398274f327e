"""Parts that every page is made of, and how they look."""
