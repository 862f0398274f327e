"""The folders of projects: their files and the index of them."""
