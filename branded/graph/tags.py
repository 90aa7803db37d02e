"""Tags: mark a value as a leaf of a derivative, as memory that may be written, or as a symbolic zero.

A tag is the argument of an identity operation, which makes the value different from all other values, even equal ones.

tinygrad has an identity operation for its own gradients, CONTIGUOUS_BACKWARD, without an argument. With a `Tag` as its
argument, the operation is ours, and the type of the tag gives its meaning:

    Level           a leaf of a derivative; `Placeholder` is a leaf for an argument of a call that is being traced
    StorageTag      memory that a write may change
    SymbolicZero    the derivative of a value that does not change

A tag costs one node of the graph, and no kernel: nothing tagged remains in a program that tinygrad compiles for us, and
elsewhere tinygrad's scheduler removes the operation.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tinygrad.uop.ops import GroupOp, Ops, UOp

from branded.tinygrad_compat import gates
from branded.tinygrad_compat.context_stack import ContextStack
from branded.tinygrad_compat.private_api import keep_shape


class Tag:
    """The base class of tags; each instance is different from all others."""

    __slots__ = ()

    @property
    def is_over(self) -> bool:
        """Whether the tag has no effect any more, so that the value alone counts."""
        return False


def is_tagged(u: UOp) -> bool:
    """Return whether this value has a tag."""
    return isinstance(u.arg, Tag)


def untag(u: UOp) -> UOp | None:
    """Return the value without its tag, or None if it has no tag: a rewrite for `replace_ops`."""
    return u.src[0] if is_tagged(u) else None


def _tag(x: UOp, tag: Tag) -> UOp:
    out = UOp(Ops.CONTIGUOUS_BACKWARD, x.dtype, (x,), tag)
    keep_shape(out, x.shape)
    return out


class Level(Tag):
    """The tag of a leaf: the value with respect to which a derivative is taken.

    Two leaves differ even if their values are equal, so a derivative never confuses them, however transforms nest.
    `grad`, `jvp`, `vjp` and the rules of primitives create leaves by `leaf`. The outermost transform removes the tag
    from its results.
    """

    def __init__(self) -> None:
        self.number = next(_numbers)

    @property
    def is_over(self) -> bool:
        """Whether the transform that created the leaf has finished; then the tag has no effect."""
        return not any(self in levels for levels in transforms.get())


@dataclass(frozen=True)
class Placeholder(Tag):
    """The tag of a leaf for argument `index` of a function with a custom rule or a checkpoint, while it is traced.

    `remat` and `custom_derivatives` make it by `leaf`, and replace it by a parameter when the body is complete.
    """

    level: Level
    index: int

    @property
    def number(self) -> int:
        return self.level.number


transforms: ContextStack[Sequence[Level]] = ContextStack("branded_transforms")
"""The derivatives being taken, each as the levels of its leaves."""
gates.blocks.append(transforms)
_numbers = itertools.count()


def leaf(x: UOp, tag: Level | Placeholder | None = None) -> UOp:
    """Return `x` as a leaf of a derivative."""
    return _tag(x, tag or Level())


def is_leaf(u: UOp) -> bool:
    """Return whether a derivative is taken with respect to this value."""
    return type(u.arg) in {Level, Placeholder}


class StorageTag(Tag):
    """The tag of a storage: all tensors that are views of it see a write to it.

    `core.analysis.aliasing` and calls of modules make it by `new_storage`. Batching removes it, because all writes are
    done by then, and so does the outermost derivative.

    Attributes:
        before: For a realized value, its storage before it was realized.
    """

    __slots__ = ("before",)

    def __init__(self, before: UOp | None = None) -> None:
        self.before = before


def new_storage(x: UOp, before: UOp | None = None) -> UOp:
    """Return `x` as a value with its own storage."""
    return _tag(x, StorageTag(before))


def is_storage(u: UOp) -> bool:
    """Return whether this is a storage, which a write created or may change."""
    return type(u.arg) is StorageTag


class SymbolicZero(Tag):
    """The tag of a symbolic zero: the derivative of a value that does not change.

    Derivatives make it by `symbolic_zero`. Forward and reverse mode compute nothing from it. The outermost derivative
    removes it, so a user sees an ordinary zero.
    """

    __slots__ = ()


def symbolic_zero(x: UOp) -> UOp:
    """Return the symbolic zero derivative of `x`."""
    return _tag(x.const_like(0), SymbolicZero())


def is_symbolic_zero(u: UOp) -> bool:
    """Return whether this is a symbolic zero, so that results computed from it have no derivative.

    An ordinary zero is a number: multiplied by infinity, it is NaN.
    """
    while u.op in GroupOp.Movement or u.op in {Ops.CAST, Ops.INDEX, Ops.STAGE}:
        u = u.src[0]
    return type(u.arg) is SymbolicZero
