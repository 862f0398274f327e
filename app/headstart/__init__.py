"""Headstart: chat offline with a language model that gets a head start from a small one."""

__version__ = "0.1.0"
