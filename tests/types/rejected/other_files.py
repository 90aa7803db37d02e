"""Functions of other files that read: the error names the file and the line."""

from functools import partial
from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap
from tests.types.other import tensors
from tests.types.other.readers import Unit, mapped
from tests.types.other.tensors import (
    Logged,
    deeper,
    exponential,
    grown,
    largest,
    logged,
    ranked,
    share,
    shifted,
    signed,
)

S = TypeVar("S", bound=Brand)
X = Tensor([[1.0, 2.0], [3.0, 4.0]])

# --- a read
vmap(share)(X)  # E: reads: tensors.py:70, in `share`: x.sum().item()
vmap(tensors.share)(X)  # E: item: a value that varies over "x" has no single value to read
vmap(ranked)(X)  # E: float: a value that varies over "x" has no single float
vmap(exponential)(X)  # E: math.exp: a value that varies over "x" is not a scalar

# --- a read in a function that it calls
vmap(deeper)(X)  # E: calls: tensors.py:74, in `deeper`: share(x)


# --- a read within a function with rows
def normed(x: Vec[S, Tensor]) -> Vec[S, Tensor]:
    return share(x) * 2  # E: item: a value that varies over "S" has no single value to read


# --- truth values
vmap(signed)(X)  # E: reads: tensors.py:78, in `signed`: x.sum() > 0
vmap(partial(signed, flip=False))(X)  # E: bool: a value that varies over "x" has no single truth value
vmap(grown)(X)  # E: reads: tensors.py:84, in `grown`: x.max() < 10
vmap(lambda x: shifted(x, x))(X)  # E: reads: tensors.py:99, in `shifted`: b
vmap(lambda x: largest([x, x]))(X)  # E: max: a value that varies over "x" has no single truth value

# --- one of several functions
for f in (share, partial(tensors.scale, k=2.0)):
    vmap(f)(X)  # E: item: a value that varies over "s" has no single value to read

# --- text
vmap(logged)(X)  # E: reads: tensors.py:106, in `logged`: f'{y.sum():.2f}'

# --- methods
vmap(Logged(deep=True))(X)  # E: calls: tensors.py:63, in `__call__`: self.activated(y)
vmap(Logged().activated)(X)  # E: reads: tensors.py:119, in `activated`: case 0


# --- a read in another file, which types show for one call and shapes for another one
points = Tensor([[1.0, 2.0], [3.0, 4.0]])
vmap(lambda a: mapped(Unit(points), points) + a)(points)
vmap(Unit(points))(points)  # E: item: a value that varies over "s" has no single value to read
