"""Tests of what is known of this computer."""
