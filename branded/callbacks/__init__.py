"""Functions of the host: Python on arrays of numpy, as operations of the graph."""

from branded.callbacks import lowering as lowering
