"""Finds the fastest way to run a model on this machine, in a bounded time."""
