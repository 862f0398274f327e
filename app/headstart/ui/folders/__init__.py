"""The folders of projects: their index, kept up to date in the background, and their list."""
