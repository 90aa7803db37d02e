"""Errors of tinygrad, translated into the user's words."""
