"""Tuning: the fastest way to run a model on this machine."""
