"""Host callbacks: Python on numpy arrays as operations of a graph."""

from branded.callbacks import lowering as lowering
