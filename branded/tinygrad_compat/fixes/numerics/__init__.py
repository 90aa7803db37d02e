"""Fixes for incorrect values: integers, NaN, division, conversions."""
