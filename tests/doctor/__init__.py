"""Tests of headstart.doctor."""
