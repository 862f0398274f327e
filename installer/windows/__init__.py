"""Packages for Windows, built on another system."""
