"""Packages of the application. `build.py` builds them; no package contains this code."""
