"""Hooks: replacements of tinygrad's methods that accept or reject batched values."""
