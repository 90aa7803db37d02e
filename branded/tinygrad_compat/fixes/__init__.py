"""Fixes for tinygrad, one file per upstream bug."""
