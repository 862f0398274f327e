"""Looks over this computer and this installation, and says what is wrong and what helps. Changes neither."""
