"""Host callbacks: Python functions of NumPy arrays as operations of a graph."""

from branded.callbacks import lowering as lowering
