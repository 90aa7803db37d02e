"""Collectives: values exchanged between the examples of a named axis."""
