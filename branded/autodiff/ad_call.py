"""A call under a derivative transform: its arguments are replaced by leaves, which are removed from its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import strong_dtype
from tinygrad.uop.ops import UOp

from branded import tree
from branded.autodiff.backward import differentiated_from, strip_tags, track_leaves, transforming
from branded.autodiff.captured_writes import Outside, record_captured_writes
from branded.autodiff.custom_rules.custom_vjp_call import check_transposed
from branded.autodiff.custom_rules.tangent_rows import transposed
from branded.autodiff.forward import push
from branded.core.boundary import live_tensor, live_tensors, lower
from branded.core.tracing import recording
from branded.core.tracing.state import is_differentiating
from branded.core.validation.arguments import as_int, call_checked, check_function
from branded.errors import DerivativeError, count_noun
from branded.graph.scope import open_brands
from branded.graph.tags import Level, leaf, symbolic_zero
from branded.graph.uops import tensor

Argnums = int | Sequence[int]
"""The position of one argument, or a sequence of positions."""


def check_differentiable(f: Any, api_name: str) -> None:
    check_function(f, api_name, f"{api_name}(f)(x)", DerivativeError)


def _real(x: Any, api_name: str, where: str) -> Tensor:
    """Return a leaf of an argument as a float tensor."""
    t = live_tensor(x, f"{api_name}: {where}", DerivativeError, but="; derivatives are with respect to float tensors")
    if not dtypes.is_float(t.dtype):
        raise DerivativeError(
            f"{api_name}: {where} is {tree.describe(x)}; derivatives are with respect to floats",
            fix="cast it to float32, or leave it out of argnums",
        )
    return t.cast(strong_dtype(t.dtype))


def _positions(argnums: Any, args: Sequence[Any], api_name: str) -> tuple[int, ...]:
    found = []
    for i in map(as_int, argnums if isinstance(argnums, tuple | list) else (argnums,)):
        if i is None or not -len(args) <= i < len(args):
            raise DerivativeError(
                f"{api_name}: argnums={tree.short_repr(argnums)} for a call with "
                f"{count_noun(len(args), 'positional argument')}",
                fix="the positions of the arguments to differentiate with respect to, counted from 0",
            )
        found.append(i % len(args))
    if len(set(found)) < len(found):
        raise DerivativeError(
            f"{api_name}: argnums={tree.short_repr(argnums)} names an argument twice", fix="each position once"
        )
    return tuple(found)


class Differentiated:
    """A call of `f` in which the arguments selected by `argnums` are replaced by leaves."""

    def __init__(
        self, f: Callable[..., Any], argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any], api_name: str
    ):
        self.f, self.api_name = f, api_name
        nums = _positions(argnums, args, api_name)
        self.single = not isinstance(argnums, tuple | list)
        self.wrt = [args[i] for i in nums]
        self.names = [p for i in nums for p in tree.paths(args[i], f"argument {i + 1}")]
        values = [v for x in self.wrt for v in tree.leaves(x)]
        self.values = [_real(v, api_name, name) for v, name in zip(values, self.names, strict=True)]
        given = [tensor(leaf(v.uop)) for v in self.values]
        # separate tensors: the function may write into its own, and `realize` renames all tensors' graphs
        self._leaves = [tensor(t.uop) for t in given]
        new = iter(given)
        full = list(args)
        for i in nums:
            full[i] = tree.rebuild(args[i], new)
        self.levels: list[Level] = [t.uop.arg for t in given]
        own = differentiated_from(next(UOp.unique_num))
        self.outside = Outside()
        with transforming(self.levels), track_leaves(self._leaves), own, record_captured_writes(self.outside):
            self.out = call_checked(f, full, kwargs, api_name, "a function with a parameter for each argument")
        if self.outside.memory:
            self._settle()

    def _settle(self) -> None:
        """Remove the leaves from values written into captured memory, which outlives the derivative."""
        self.out = with_tensors(self.out, uops(self.out))  # new tensors: a result may be the written tensor
        if not is_differentiating():
            self.outside.follow(strip_tags(uops(self.out)))
            self.outside.settle(strip_tags, [*self._leaves, *_tensors_of(self.out)])

    @property
    def leaves(self) -> list[UOp]:
        return [t.uop for t in self._leaves]

    def gave(self, kind: str, us: Iterable[UOp]) -> None:
        """Record in the IR that these values are the `kind` of this call: its gradient, tangent or Jacobian."""
        recording.record_derivative(kind, self.f, tuple(us))

    def split(self, has_aux: bool) -> tuple[Any, Any]:
        if not has_aux:
            return self.out, None
        if not isinstance(self.out, tuple) or len(self.out) != 2:
            raise DerivativeError(
                f"{self.api_name}: has_aux=True, and the function returned {tree.describe(self.out)}",
                fix="return a pair: the value, and whatever else",
            )
        return self.out

    def without_entries(self, y: Any, aux: Any, has_aux: bool) -> Any:
        """Return an empty Jacobian: the function has no tensor results, or no tensor arguments to differentiate by."""
        out = self.results((tree.rebuild(y, iter([self.like_arguments(()) for _ in tree.leaves(y)])), aux))
        return out if has_aux else out[0]

    def results(self, y: Any) -> Any:
        """Return the same tree without leaves, as the user receives it."""
        ts = _tensors_of(y)
        new = dict(zip(map(id, ts), self.outside.now(strip_tags([t.uop for t in ts])), strict=True))
        out = (x if not isinstance(x, Tensor) or new[id(x)] is x.uop else tensor(new[id(x)]) for x in tree.leaves(y))
        return tree.rebuild(y, out)

    def like_arguments(self, grads: Iterable[Tensor]) -> Any:
        """Return the derivatives in the trees of the arguments."""
        new = iter(grads)
        out = tuple(tree.rebuild(x, new) for x in self.wrt)
        return out[0] if self.single else out


def outputs(y: Any, api_name: str) -> list[Tensor]:
    """Return the tensors that a function returned."""
    return live_tensors(y, f"{api_name}: the result", DerivativeError, "return tensors; others with has_aux=True")


def tensors(us: Iterable[UOp]) -> list[Tensor]:
    return [tensor(u) for u in us]


def _tensors_of(x: Any) -> list[Tensor]:
    """Return the tensors in any tree."""
    return [v for v in tree.leaves(x) if isinstance(v, Tensor)]


def uops(x: Any) -> list[UOp]:
    """Return the UOps of the tensors in any tree."""
    return [t.uop for t in _tensors_of(x)]


def with_tensors(x: Any, us: Sequence[UOp]) -> Any:
    """Return the same tree with its tensors replaced."""
    new = iter(us)
    leaves = (tensor(next(new)) if isinstance(v, Tensor) else v for v in tree.leaves(x))
    return tree.rebuild(x, leaves) if us else x


def push_tangents(ys: Sequence[Tensor], leaves: Sequence[UOp], dxs: Sequence[UOp]) -> list[Tensor]:
    """Push the tangents of the leaves forward and return the tangents of the results."""
    # hide closed brands from custom rules; values below a leaf may have left such a brand
    lowered = lower([*(t.uop for t in ys), *leaves], open_brands())
    values, leaves = lowered[: len(ys)], lowered[len(ys) :]
    tangents = dict(zip(leaves, dxs, strict=True))
    if transposed.get():  # the transform that transposes this checks the result
        ds = push(values, tangents)
    else:
        with transposed.during(level := Level()):
            ds = push(values, tangents)
        check_transposed([d for d in ds if d is not None], level)
    return [tensor(symbolic_zero(t.uop) if d is None else d) for t, d in zip(ys, ds, strict=True)]
