"""Patches that speed up tinygrad's compilation and change no result."""
