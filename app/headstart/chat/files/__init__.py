"""Attached files as text, and the passages of long ones."""
