"""`headstart launch`: coding agents that use a server of this computer, and the settings that they need."""
