"""Hooks: replacements of methods of `Tensor`, so that they work on batched values or raise errors."""
