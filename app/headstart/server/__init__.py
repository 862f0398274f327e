"""The local API: OpenAI's protocol in front of an Engine, for programs of this computer."""
