"""Widgets that all pages share, and their appearance."""
