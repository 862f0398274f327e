"""Tests of the pages that measure."""
