"""Tests of the export tool."""
