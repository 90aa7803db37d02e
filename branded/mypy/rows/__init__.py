"""Rows in types: the set of brands that a value varies over."""
