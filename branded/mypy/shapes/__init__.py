"""The shapes of values, followed from data through functions."""
