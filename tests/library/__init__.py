"""Tests of the library: models that are installed, their manifests and vocabularies, imports."""
