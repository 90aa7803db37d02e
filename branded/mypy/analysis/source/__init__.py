"""Analyses of Python source: where functions read or store batched values."""
