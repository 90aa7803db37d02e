"""`Vec`: the type of per-example values.

The definition for type checkers is in vec.pyi, which stubs/generate.py writes.
"""

from __future__ import annotations

from typing import Any, Generic

from tinygrad import Tensor
from typing_extensions import TypeVar

S_co = TypeVar("S_co", covariant=True)  # vec.pyi declares its bound, Brand
_T = TypeVar("_T", default=Tensor)


class _VecType(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor)

    def __getattr__(cls, name: str) -> Any:
        """Return the attribute of `Tensor`: `Vec.exp` is `Tensor.exp`, because every `Vec` is a tensor."""
        return getattr(Tensor, name)


class Vec(Generic[S_co, _T], metaclass=_VecType):
    """The type of a batched value: `Vec[S, T]` is a `T` for every example of the brands in `S`.

    It is a type, not a container: a mapped function receives ordinary tensors of per-example shape.  Every tensor is a
    `Vec`; an unbatched tensor has no brands.

    Example:
        >>> from branded import Vec, vmap
        >>> from tinygrad import Tensor
        >>> isinstance(Tensor([1.0]), Vec)
        True
        >>> vmap(lambda row: print(row) or row.sum())(Tensor.ones(3, 2)).tolist()
        Vec[row:3, f32[2]]
        [2.0, 2.0, 2.0]

    Source: E. Z. Yang, "vmap in Haskell" (2020), where `Vec s a` is an array indexed by the skolem `s`.
    """

    def __new__(cls, *_: object, **__: object) -> Vec[S_co, _T]:
        raise TypeError("Vec is a type for annotations; vmap and Brand.vec create values of this type")
