"""A call under `grad`, `jvp` or `vjp`: the function runs on leaves, and its results are returned without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import UOp

from branded import tree
from branded.autodiff.captured_writes import CapturedWrites, record_captured_writes
from branded.autodiff.custom_rules.custom_vjp_call import check_transposed
from branded.autodiff.custom_rules.tangent_rows import transposed
from branded.autodiff.forward import push_forward
from branded.autodiff.leaves import differentiated_from, track_leaves, transforming
from branded.autodiff.results import strip_tags
from branded.core.boundary import live_tensor, live_tensors, lower
from branded.core.tracing.state import is_differentiating
from branded.core.validation.arguments import as_int, call_checked
from branded.errors import DerivativeError, count_noun
from branded.graph.scope import open_brands
from branded.graph.tags import Level, leaf, symbolic_zero
from branded.graph.uops import tensor, tensors

Argnums = int | Sequence[int]
"""The position of one argument, or a sequence of positions."""


_NOT_DIFFERENTIATED = {
    "vjp": "cast it to float32, or close over it: vjp(lambda x: f(x, n), x)",
    "jvp": "cast it to float32, or close over it: jvp(lambda x: f(x, n), (x,), (dx,))",
}
"""The fix for an argument without derivatives, for transforms that differentiate with respect to all arguments."""


def _real(x: Any, api_name: str, where: str) -> Tensor:
    """Return a leaf of an argument as a float tensor."""
    t = live_tensor(
        x,
        f"{api_name}: {where}",
        DerivativeError,
        "close over it in the function, and leave it out of the argument",
        ", and only float tensors have derivatives",
    )
    if not dtypes.is_float(t.dtype):
        raise DerivativeError(
            f"{api_name}: {where} is {tree.describe(x)}, and only floats have derivatives",
            fix=_NOT_DIFFERENTIATED.get(api_name, "cast it to float32, or leave it out of argnums"),
        )
    return t.cast(strong_dtype(t.dtype))


def _positions(argnums: Any, args: Sequence[Any], api_name: str) -> tuple[int, ...]:
    positions = []
    for i in map(as_int, argnums if isinstance(argnums, tuple | list) else (argnums,)):
        if i is None or not -len(args) <= i < len(args):
            raise DerivativeError(
                f"{api_name}: argnums={tree.short_repr(argnums)} is out of range for a call with "
                f"{count_noun(len(args), 'positional argument')}",
                fix="give positions of arguments, counted from 0: argnums=0",
            )
        positions.append(i % len(args))
    if len(set(positions)) < len(positions):
        raise DerivativeError(
            f"{api_name}: argnums={tree.short_repr(argnums)} names an argument twice", fix="name each position once"
        )
    return tuple(positions)


class Differentiated:
    """A call of `f` in which the arguments selected by `argnums` are replaced by leaves."""

    def __init__(
        self,
        f: Callable[..., Any],
        argnums: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        has_aux: bool,
        api_name: str,
    ) -> None:
        nums = _positions(argnums, args, api_name)
        self.wrt: Any = tuple(args[i] for i in nums) if isinstance(argnums, tuple | list) else args[nums[0]]
        """The selected arguments: a derivative has the tree structure of this value."""
        self.names = [p for i in nums for p in tree.paths(args[i], f"argument {i + 1}")]
        self.values = [_real(v, api_name, name) for v, name in zip(tree.leaves(self.wrt), self.names, strict=True)]
        inputs = tensors(leaf(v.uop) for v in self.values)
        # separate tensors: the function may write into its own, and `realize` renames all tensors' graphs
        self.leaves = tensors(t.uop for t in inputs)
        self.levels: list[Level] = [t.uop.arg for t in inputs]
        new, full = iter(inputs), list(args)
        for i in nums:
            full[i] = tree.rebuild(args[i], new)
        active, tracked = transforming(self.levels), track_leaves(self.leaves)
        opened_scopes = differentiated_from(next(UOp.unique_num))
        self.outside = CapturedWrites()
        with active, tracked, opened_scopes, record_captured_writes(self.outside):
            self.value: Any = call_checked(f, full, kwargs, api_name, "pass a function with one parameter per argument")
        if self.outside.memory:
            self._settle()
        if has_aux and (not isinstance(self.value, tuple) or len(self.value) != 2):
            raise DerivativeError(
                f"{api_name}: has_aux=True needs a pair, and the function returned {tree.describe(self.value)}",
                fix="return a pair: (value, aux)",
            )
        self.aux: Any = None
        if has_aux:
            self.value, self.aux = self.value
        fix = "return tensors, and other values with has_aux=True"
        self.results = live_tensors(self.value, f"{api_name}: the result", DerivativeError, fix)
        """The tensors in `value`."""

    def _settle(self) -> None:
        """Remove the leaves from values that the function wrote into captured memory, which others read later."""
        # new tensors: a result may be the written tensor, which is settled if it is still alive
        self.value = tree.with_uops(self.value, tree.uops(self.value))
        if not is_differentiating():
            self.outside.follow(strip_tags(tree.uops(self.value)))
            results = [y for y in tree.leaves(self.value) if isinstance(y, Tensor)]
            self.outside.settle(strip_tags, [*self.leaves, *results])


def push_tangents(ys: Sequence[Tensor], leaves: Sequence[UOp], dxs: Sequence[UOp]) -> list[Tensor]:
    """Return the tangents of the results, computed in forward mode from the tangents of the leaves."""
    # batch first, so that custom rules see no brand that was left; values before a leaf may have left one
    lowered = lower([*(t.uop for t in ys), *leaves], open_brands())
    values, leaves = lowered[: len(ys)], lowered[len(ys) :]
    tangents = dict(zip(leaves, dxs, strict=True))
    if transposed.get():  # the transform that transposes these tangents checks them
        ds = push_forward(values, tangents)
    else:
        with transposed.during(level := Level()):
            ds = push_forward(values, tangents)
        check_transposed([d for d in ds if d is not None], level)
    return [tensor(symbolic_zero(t.uop) if d is None else d) for t, d in zip(ys, ds, strict=True)]
