"""Tests of what is loaded, in which precision and form, and whether it fits in memory."""
