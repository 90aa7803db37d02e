"""Functions of the host: Python on arrays of numpy, as operations of the graph."""
