"""Packages for Windows, made on another system."""
