"""The models of this computer: what is installed, what a folder says of itself, how models come and go."""
