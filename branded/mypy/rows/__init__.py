"""Rows in types: the set of brands in `Vec[S | S1]`."""
