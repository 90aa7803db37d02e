"""Validation of user arguments, and the hints of errors."""
