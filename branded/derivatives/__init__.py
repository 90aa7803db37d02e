"""Derivatives: forward and reverse mode, and rules of the user's own."""
