"""Tests of the main window, its keys, menus, looks and languages."""
