"""Custom batching rules: custom_vmap and sequential_vmap."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, cast

from tinygrad import Tensor
from tinygrad.uop.ops import UOp

from branded import tree
from branded.autodiff.custom_rules.rule_checks import by_key, positional, tensor_of
from branded.collectives.named_axes import is_spread, own
from branded.control_flow.loops import map as map_
from branded.control_flow.sequential_vmap import in_turn
from branded.core.boundary import stage
from branded.core.entry import entry
from branded.core.sharding.resharding import everywhere
from branded.core.tracing.dry_run import dry_run
from branded.core.tracing.recording import is_recording
from branded.core.validation.arguments import call_checked, check_function
from branded.core.values import vec_type
from branded.errors import AxesError
from branded.errors.calls import check_calls
from branded.graph.rows import check_live, row_of
from branded.graph.scope import Row, Scope, union
from branded.graph.uops import tensor

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")
P = ParamSpec("P")


class custom_vmap(Generic[P, R]):  # noqa: N801  as in JAX
    """A function with a custom batching rule.

    Args:
        fun: A function of trees of tensors.

    Returns:
        The function, with `def_vmap(rule)` to set the rule `rule(axis_size, in_batched, *args)`. The rule gets a bool
        for each tensor, true if the tensor has a leading axis of examples. It returns `(out, out_batched)`.

    Raises:
        AxesError: No rule is set, or it returns a value that does not fit.

    Example:
        >>> from branded import custom_vmap, vmap
        >>> from tinygrad import Tensor
        >>> @custom_vmap
        ... def double(x): return x * 2
        >>> @double.def_vmap
        ... def rule(axis_size, in_batched, x): return x * 2 + axis_size, in_batched[0]
        >>> double(Tensor(1)).item(), vmap(double)(Tensor([1, 2, 3])).tolist()
        (2, [5, 7, 9])

    Source: `jax.custom_batching.custom_vmap`.
    """

    @check_calls
    def __init__(self, fun: Callable[P, R]) -> None:
        if not callable(fun):
            raise AxesError(f"custom_vmap: {tree.describe(fun)} is not a function", fix="custom_vmap(f)")
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.rule: Callable[..., Any] | None = None
        self.is_in_turn = False
        """Whether this is a `sequential_vmap`, whose rule runs one example after the other."""

    @check_calls
    def def_vmap(self, rule: F) -> F:
        """Set the rule `rule(axis_size, in_batched, *args) -> (out, out_batched)`."""
        check_function(rule, f"custom_vmap: the rule of {_name(self.fun)}", error=AxesError)
        self.rule, self.is_in_turn = rule, False
        return rule

    def __get__(self, obj: Any, objtype: type | None = None) -> Any:
        return self if obj is None else functools.partial(self, obj)

    @entry
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        name = _name(self.fun)
        call: tuple[Any, ...] = positional(self.fun, args, kwargs, f"custom_vmap: {name}")
        leaves = [x for a in call for x in tree.leaves(a)]
        row: Row = functools.reduce(union, (row_of(x.uop) for x in leaves if isinstance(x, Tensor)), ())
        here = [b for b in row if b.is_brand]
        if not here:
            fix = "pass one argument per parameter"
            return cast(R, call_checked(self.fun, args, kwargs, f"custom_vmap: {name}", fix))
        if self.rule is None:
            raise AxesError(f"custom_vmap: {name} has no rule yet", fix=f"{name}.def_vmap(rule)")
        if self.is_in_turn and not is_recording() and (done := in_turn(self.fun, call, f"sequential_vmap: {name}")):
            return cast(R, done[0])
        b = here[-1]  # the innermost
        staged = [_stage_argument(a, b, f"custom_vmap: argument {i + 1} of {name}") for i, a in enumerate(call)]
        xs, batched = [x for x, _ in staged], [flags for _, flags in staged]
        api_name = f"custom_vmap: the rule of {name}"
        pair = call_checked(self.rule, (b.size, batched, *xs), {}, api_name, "rule(axis_size, in_batched, *args)")
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise AxesError(
                f"custom_vmap: the rule of {name} returned {tree.describe(pair)}, not a pair",
                fix="return a pair: (results, out_batched), with a bool per result",
            )
        wanted = None if self.is_in_turn else _of_one_example(self.fun, call)
        return cast(R, _entries(*pair, b, name, wanted))


def _stage_argument(x: Any, b: Scope, where: str) -> tuple[Any, Any]:
    """Stack the examples of `b` along axis 0, and return for each leaf whether it has that axis."""
    leaves = tree.leaves(x)
    for v in leaves:
        if isinstance(v, Tensor):
            check_live(v.uop, where)
    flags = [isinstance(v, Tensor) and b in row_of(v.uop) for v in leaves]
    values = [tensor(_every(v.uop, b)) if varies else v for v, varies in zip(leaves, flags, strict=True)]
    return tree.rebuild(x, iter(values)), tree.rebuild(x, iter(flags))


def _every(x: UOp, b: Scope) -> UOp:
    """Stack all examples; each of several devices gets all of them, because a rule may combine them."""
    return everywhere(stage(x, b), b.devices) if is_spread(b) else stage(x, b)


def _of_one_example(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any] | None:
    """Return the result of the function itself, which the rule must match in tree and shapes; None if it fails."""
    try:
        return (dry_run(lambda: f(*args)),)
    except Exception:  # the function may contain operations that vmap rejects, which is why it has a rule
        return None


def _entries(out: Any, out_batched: Any, b: Scope, name: str, wanted: tuple[Any] | None) -> Any:
    """Return the rule's result for one example; `wanted` is the result of the function, for checks."""
    leaves, flags = tree.leaves(out), _flags(out_batched, out, name)
    if wanted is not None and tree.paths(out, "") != tree.paths(wanted[0], ""):
        raise AxesError(
            f"custom_vmap: the rule of {name} returned another structure than {name}",
            ("rule", tree.outline(out)),
            ("function", tree.outline(wanted[0])),
            fix="return the structure that the function returns",
        )
    back = []
    for y, varies, path in zip(leaves, flags, tree.paths(out, "the result"), strict=True):
        y = tensor_of(y, f"custom_vmap: {path} of the rule of {name}")
        if varies and (not y.shape or y.shape[0] != b.size):
            raise AxesError(
                f"custom_vmap: {path} of the rule of {name} is declared batched, but has no axis of examples",
                ("value", vec_type(y)),
                fix=f"put the {b.size} examples along axis 0, or set False in out_batched",
            )
        back.append(own(y, (b,)) if varies else y)
    for y, x, path in zip(back, tree.leaves(wanted[0]) if wanted else (), tree.paths(out, "the result"), strict=False):
        if (t := tree.as_tensor(x)) is not None and t.shape != y.shape:
            raise AxesError(
                f"custom_vmap: {path} of the rule of {name} has another per-example shape than {name} returns",
                ("rule", vec_type(y)),
                ("function", vec_type(t)),
                fix="return the function's shape, with the examples along axis 0 where it is batched",
            )
    return tree.rebuild(out, iter(back))


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", "f")


def _flags(batched: Any, out: Any, name: str) -> list[bool]:
    """Expand a prefix tree of bools to a bool for each leaf of the result."""
    flags: list[bool] = []
    waiting = [(batched, out)]
    while waiting:
        batched, out = waiting.pop()
        if isinstance(batched, bool):
            flags += [batched] * len(tree.leaves(out))
            continue
        n = tree.node(out)
        if n is None or (below := by_key(batched, n)) is None:
            raise AxesError(
                f"custom_vmap: out_batched of the rule of {name} does not match its results",
                fix="give one bool per result",
            )
        waiting.extend([*zip(below, n.children, strict=True)][::-1])
    return flags


@check_calls
def sequential_vmap(f: Callable[P, R]) -> custom_vmap[P, R]:
    """Return `f` with a vmap that loops over the examples: `vmap(f)(xs)` is `map(f, xs)`.

    Args:
        f: A function of trees of tensors.

    Returns:
        The function: a `custom_vmap` with its rule.

    Raises:
        AxesError: `f` is not a function.

    Example:
        >>> from branded import sequential_vmap, vmap
        >>> from tinygrad import Tensor
        >>> vmap(sequential_vmap(lambda x: x.sum()))(Tensor([[1, 2], [3, 4]])).tolist()
        [3, 7]

    Source: `jax.custom_batching.sequential_vmap`.
    """
    mapped: Any = custom_vmap(f)

    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        flags = [x for t in in_batched for x in tree.leaves(t)]
        leaves = [x for a in args for x in tree.leaves(a)]
        moving = [x for x, varies in zip(leaves, flags, strict=True) if varies]

        def one(xs: list[Any]) -> Any:
            new, same = iter(xs), iter(leaves)
            full_args = iter([next(new) if varies else x for x, varies in zip(same, flags, strict=True)])
            return mapped(*(tree.rebuild(a, full_args) for a in args))

        out = map_(one, moving)
        return out, True

    mapped.def_vmap(rule)
    mapped.is_in_turn = True
    return cast("custom_vmap[P, R]", mapped)
