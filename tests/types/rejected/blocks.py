"""branded.dask: wrong functions, wrong names of axes, and reads of values that a worker maps."""

from typing import Any

from tinygrad import Tensor

from branded import dask, vmap

x = Tensor([1.0, 2.0])
blocks: Any = ...

# --- no function
dask.vmap(3)(blocks)  # E: Argument 1 to "vmap" has incompatible type "int"; expected "Callable[..., Any]"
dask.on_arrays(x)  # E: Argument 1 to "on_arrays" has incompatible type "Tensor"; expected "Callable[..., Any]"

# --- no name
dask.vmap(lambda a: a, axis_name=3)(blocks)  # E: Argument "axis_name" to "vmap" has incompatible type "int"

# --- the name is not an axis
dask.vmap(lambda a: a, 0, 0, "users")(blocks)  # E: Too many positional arguments for "vmap"

# --- a mapped value is read in a worker
dask.vmap(lambda a: vmap(lambda b: b.item())(x))(blocks)  # E: item: a value that varies over "b" has no single value
