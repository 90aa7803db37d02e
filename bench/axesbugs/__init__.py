"""Mistakes with axes, and who finds them."""
