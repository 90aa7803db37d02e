"""A type-directed vmap for tinygrad: brands zip where they are shared and broadcast where they are not."""

from branded import _cc, _hooks
from branded.brand import Brand, brand
from branded.errors import BrandedError
from branded.transforms import random as _random
from branded.tree import register_pytree_node
from branded.values import brands, lift, unvec, vec_type
from branded.vec import Vec
from branded.vmap import vmap

__version__ = "0.1.0"

__all__ = [
    "Brand",
    "BrandedError",
    "Vec",
    "brand",
    "brands",
    "lift",
    "register_pytree_node",
    "unvec",
    "vec_type",
    "vmap",
]

_cc.choose()  # before the first compile
_hooks.install()
_random.install()
