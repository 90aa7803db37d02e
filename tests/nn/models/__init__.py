"""Small configurations of well-known models, written in the style of tinygrad models."""
