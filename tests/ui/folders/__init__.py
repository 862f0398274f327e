"""Tests of projects and folders in the window."""
