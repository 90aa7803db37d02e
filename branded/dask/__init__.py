"""vmap over arrays of dask: examples that fit no memory, or are worked out by many processes and machines.

Nothing here imports dask before it is called.
"""

from branded.dask.api import on_arrays as on_arrays
from branded.dask.api import vmap as vmap

__all__ = ["on_arrays", "vmap"]
