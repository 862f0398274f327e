"""Tests of GGUF files as models."""
