"""Batching rules, one file per family of primitives.  Importing them fills the table of `branded.dispatch`."""

from branded.core.batching import elementwise, function, index, kernel, movement, reduce, store

__all__ = ["elementwise", "function", "index", "kernel", "movement", "reduce", "store"]
