"""The models on this computer: which are installed, what their folders contain, and how they are added and removed."""
