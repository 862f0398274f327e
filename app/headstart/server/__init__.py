"""The local API: OpenAI's protocol for the programs of this computer."""
