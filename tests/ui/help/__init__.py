"""Tests of the dialogs of help."""
