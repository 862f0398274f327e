"""Tests of the plain front end; no model, no device."""
