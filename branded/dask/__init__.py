"""`vmap` over dask arrays, for batches larger than memory.

Importing this package does not import dask; the first call does.
"""

from branded.dask.api import on_arrays as on_arrays
from branded.dask.api import vmap as vmap

__all__ = ["on_arrays", "vmap"]
