"""Tests of the tools that answers call."""
