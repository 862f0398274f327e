"""Tests of the window beside its engine process."""
