"""Tests of the matrix products in C, and of their use in models."""
