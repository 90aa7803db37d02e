"""Translate errors of tinygrad into messages about one example, with the line and a suggestion."""
