"""branded.dask: arrays of another library have no types here, and functions of tensors keep theirs."""

import importlib
from typing import Any, TypeVar, assert_type, reveal_type

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, dask, jit, psum, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)


class Users(Brand): ...


def distance(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return (a - b).square().sum()


blocks: Any = importlib.import_module("dask.array").ones((4, 2), chunks=(2, 2), dtype="float32")

# --- a function of rows, over chunks
assert_type(dask.vmap(distance)(blocks, blocks), Any)

# --- axes and a name
dask.vmap(distance, in_axes=(1, None), out_axes=-1)(blocks.T, Tensor([1.0]))
dask.vmap(lambda a: a - psum(a, Users), axis_name=Users)(blocks)

# --- a loop over pairs of chunks
dask.vmap(lambda a: dask.vmap(lambda b: distance(a, b))(blocks))(blocks)

# --- functions that run in one worker
dask.vmap(lambda a: vmap(lambda b: b * 2)(a))(blocks)

# --- a mapped function as one of arrays
reveal_type(dask.on_arrays(vmap(distance))(np.ones(2), np.ones(2)))  # N: Revealed type is "Any"
reveal_type(dask.on_arrays(jit(vmap(lambda a: a * 2)))(np.ones(2)))  # N: Revealed type is "Any"
