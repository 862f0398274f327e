"""Tests of the page of models."""
