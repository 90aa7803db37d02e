"""Patches that make tinygrad compile faster and change no result."""
