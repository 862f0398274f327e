"""Tests of the proofs of a finished model."""
