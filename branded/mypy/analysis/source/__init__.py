"""Reads and stores of batched values in the source of functions."""
