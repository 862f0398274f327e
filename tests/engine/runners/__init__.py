"""Tests of passes, their states and batches."""
