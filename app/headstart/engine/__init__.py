"""Tokens in, tokens out: exact speculative decoding on OpenVINO. Knows neither Qt nor stored chats."""
