"""Fixes of tinygrad, one file per upstream bug."""
