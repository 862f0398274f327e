"""Tokens in, tokens out: exact speculative decoding on OpenVINO."""
