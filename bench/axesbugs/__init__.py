"""Mistakes with axes that types and checks find."""
