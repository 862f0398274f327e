"""Checks of the installation, of a model and of the program itself."""
