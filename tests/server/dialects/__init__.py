"""Tests of what OpenAI's, Anthropic's and Ollama's interfaces ask and get."""
