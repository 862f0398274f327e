"""Tests of the main window, its keys, menus, and looks."""
