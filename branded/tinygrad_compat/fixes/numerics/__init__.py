"""Fixes of wrong values: integers, NaN, division, conversions."""
