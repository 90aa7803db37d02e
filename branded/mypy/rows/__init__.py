"""Rows in types: the set of brands in `Vec[S | S1]`, and operations on types that contain rows."""
