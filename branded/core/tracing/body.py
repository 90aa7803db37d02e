"""Tracing of loop bodies: each body is traced on placeholders for the values of every step, until its types agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tinygrad import Device, Tensor, dtypes
from tinygrad.dtype import DType, strong_dtype
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.core.boundary import copy_for_examples, enter, enter_all, live_tensor, live_tensors, lower
from branded.core.tracing import recording
from branded.core.tracing.effect_tokens import TOKEN, Body, Effect, collect_effects, given_to
from branded.core.tracing.step import Carry, param
from branded.dispatch import Pass
from branded.errors import CarryError
from branded.graph.primitive import Batched
from branded.graph.rows import as_place, check_live, row_of, type_text, visible
from branded.graph.scope import Row, Scope, open_block, open_brands, union
from branded.graph.uops import replace_ops, tensor, with_strong_dtype
from branded.tinygrad_compat.private_api import canonicalize_device
from branded.tinygrad_compat.tensor_methods import method_restored


class Steps(Scope):
    """The scope of a loop's body: its values differ from step to step, and the body is traced once."""

    def __init__(self, api_name: str) -> None:
        super().__init__(1, hint=lambda: api_name)
        self.turn = "call" if api_name in ("jit", "dask.vmap") else "step"
        self.option_of: dict[UOp, str] = {}
        """While a program is traced: the option that makes an argument static, for the places of Python numbers."""


class LeafType(NamedTuple):
    """The type of a value in a body: its per-example type, and the brands over which it is batched."""

    shape: tuple[Any, ...]
    dtype: DType
    device: Any
    row: Row
    sharded: int | None = None
    """The axis that is sharded over the devices."""
    is_of_a_loop: bool = False
    """Whether the value is a loop's carry or input; a Python number is then stored with the default dtype of arrays."""

    @classmethod
    def of(cls, x: UOp, drop: int = 0, default: Any = None) -> LeafType:
        """Return the type of `x` without its first `drop` axes; `default` is the device of a value without one."""
        device = x.device if x.device is not None else default or canonicalize_device(None)
        along = x.axis if isinstance(device, tuple) else None
        sharded = None if along is None or along < drop else along - drop
        return cls(x.shape[drop:], x.dtype, device, visible(row_of(x)), sharded)

    @property
    def stored(self) -> DType:
        """The dtype in memory: a Python number gets one that loses nothing on its way to a kernel."""
        if self.dtype not in dtypes.weaks or self.is_of_a_loop:
            return strong_dtype(self.dtype)
        wide = dtypes.int64 if self.dtype == dtypes.weakint else dtypes.float64
        supported = Device[
            self.device[0] if isinstance(self.device, tuple) else self.device
        ].renderer.supported_dtypes()
        return wide if wide in supported else strong_dtype(self.dtype)

    def placeholder(self, steps: Scope) -> UOp:
        shape = (1, *(b.size for b in self.row), *self.shape)
        one = self.device if self.sharded is None else self.device[0]
        x = UOp.new_buffer(one, math.prod(shape), self.stored).reshape(shape)
        if self.sharded is not None:
            x = x.shard(self.device, self.sharded + len(shape) - len(self.shape))
        x = enter(x, steps)
        x = enter_all(x, self.row)
        if self.dtype in dtypes.weaks:
            x = x.cast(self.dtype)
        return as_place(x)


_TOKEN = LeafType((), TOKEN, "CPU", ())


class Traced(NamedTuple):
    """A body as a graph: the parameters that replace its arguments, and its results."""

    params: list[UOp]
    out: Any
    leaves: list[UOp]
    effect: Effect | None = None
    """The effects of the body in addition to its results."""


TracedBody = Callable[[list[Tensor]], tuple[Any, list[Tensor]]]
"""A body over the leaves of its arguments; it returns its result, and the leaves of its result."""


def trace(api_name: str, f: TracedBody, types: Sequence[LeafType], options: Sequence[str] = ()) -> Traced:
    """Trace `f` for arguments of these types; an option that is not empty makes its argument static."""
    steps = Steps(api_name)
    is_loop = steps.turn == "step"
    must = Body(lambda device: _TOKEN._replace(device=device).placeholder(steps)) if is_loop else Body()
    with recording.body() as done, collect_effects(must), open_block(steps), method_restored():
        places = [t.placeholder(steps) for t in types]
        steps.option_of = {x: option for x, option in zip(places, options, strict=False) if option}
        with given_to(dict.fromkeys(places, steps) if is_loop else {}):
            out, values = f([tensor(p) for p in places])
        for x in values:
            check_live(x.uop, api_name)
        done(places, [x.uop for x in values])
        leaves = lower([*(x.uop for x in values), *([] if must.token is None else [must.token])], open_brands())
    steps.option_of = {}
    params = [param(t.shape, t.stored, t.device) for t in types]
    param_of = {x: p if p.dtype == x.dtype else p.cast(x.dtype) for x, p in zip(places, params, strict=True)}
    if must.first is None or not is_loop:  # in a program, the token is another result
        return Traced(params, out, _in_terms_of(leaves, param_of))
    token_param = param((), TOKEN, must.first.device)
    *leaves, token = _in_terms_of(leaves, param_of | {must.first: token_param})
    return Traced(params, out, leaves, Effect(token_param, token))


def _in_terms_of(leaves: Sequence[UOp], param_of: dict[UOp, UOp]) -> list[UOp]:
    """Replace the placeholders in a body's results by parameters; a write into an argument creates a new value."""
    graph = UOp(Ops.SINK, src=tuple(leaves)).toposort(enter_calls=False)
    if any(u.op is Ops.STORE and not param_of.keys().isdisjoint(u.src[0].toposort(enter_calls=False)) for u in graph):
        env: dict[UOp, Any] = {place: Batched(p, ()) for place, p in param_of.items()}
        return [x.uop for x in Pass(()).run(leaves, env, None)]
    return replace_ops(leaves, param_of.get)


def live_carry(x: Any, where: str) -> Tensor:
    return live_tensor(x, where, CarryError, "use tensors, numbers, or pytrees of these")


def all_carried(x: Any, where: str) -> list[Tensor]:
    tensors = live_tensors(x, where, CarryError, "use tensors, numbers, or pytrees of these")
    for y, path in zip(tensors, tree.paths(x, where), strict=True):
        if any(type(n) is not int for n in y.shape):
            raise CarryError(
                f"{path} has a symbolic size",
                ("value", type_text(y)),
                fix="pass the whole tensor, and select a part with where",
            )
    return tensors


def loses(number: DType, dtype: DType) -> bool:
    """Return whether converting a Python number or its results to this dtype loses something, such as 1.5 as an int."""
    if dtypes.is_float(number):
        return not dtypes.is_float(dtype)
    return dtype == dtypes.bool and number != dtypes.bool


def carry_dtype(number: Any, dtype: DType) -> DType:
    """Return the dtype of a carry that starts as a Python number and that a step returns with this dtype.

    0 and uint8: uint8
    0 and 0.5: float32
    0.0 and int32: int32, because 0.0 is an int
    0.5 and int32: float32
    """
    weak = number.dtype if isinstance(number, Tensor) else Tensor(number).dtype
    if loses(weak, dtype) and (isinstance(number, Tensor) or number != _as(number, dtype)):
        return strong_dtype(weak)
    return strong_dtype(dtype)


def _as(number: float, dtype: DType) -> float:
    return bool(number) if dtype == dtypes.bool else int(number) if math.isfinite(number) else 0


def numbers_kept(values: Sequence[Tensor]) -> list[Tensor]:
    """Return the results of a loop or branch; outside of all brands and bodies, Python numbers get their dtype."""
    scopes = open_brands()
    for b in scopes:
        b.has_chosen |= any(t.dtype in dtypes.weaks for t in values)
    return list(values if scopes else map(with_strong_dtype, values))


class State:
    """The carry of a loop, whose types must be the same before and after each step.

    A Python number remains one in the body until the body gives it a dtype.  For the carry `c * 31 + x` from 0 on
    and a uint8 `x`:

        the first trace     c is a Python int, and the result a uint8
        the second trace    c is a uint8, and the result a uint8
    """

    def __init__(self, api_name: str, init: Any) -> None:
        self.api_name, self.tree = api_name, init
        self.where = tree.paths(init, "carry")
        is_number = [isinstance(x, bool | int | float) for x in tree.leaves(init)]
        self.given = all_carried(init, f"{api_name}: the carry")
        self.dtypes = [x.dtype for x in self.given]
        self.loose = [d in dtypes.weaks or n for d, n in zip(self.dtypes, is_number, strict=True)]
        self.rows = [visible(row_of(x.uop)) for x in self.given]

    def first(self) -> list[Tensor]:
        return [x.cast(d) for x, d in zip(self.given, self.dtypes, strict=True)]

    def types(self, default: Any = None) -> list[LeafType]:
        leaf_types = zip([LeafType.of(x.uop, default=default) for x in self.given], self.dtypes, self.rows, strict=True)
        return [t._replace(dtype=d, row=row, is_of_a_loop=True) for t, d, row in leaf_types]

    def carries(self, traced: Traced) -> list[Carry]:
        """Return the loop's carries; the initial values are expanded to all brands of the later ones."""
        k = len(self.given)
        for x, y, dtype, path in zip(self.given, traced.leaves[:k], self.dtypes, self.where, strict=True):
            for t in (x, tensor(y)):
                tree.check_fits(t, dtype, f"{self.api_name}: {path}")
        inits = [
            copy_for_examples(x.cast(strong_dtype(x.dtype)).uop, tuple(b for b in row if b not in row_of(x.uop)))
            for x, row in zip(self.first(), self.rows, strict=True)
        ]
        return [Carry(*c) for c in zip(traced.params[:k], inits, traced.leaves[:k], strict=True)]

    def rebuilt(self, xs: Sequence[Tensor]) -> Any:
        return tree.rebuild(self.tree, iter(xs))

    def last(self, done: Sequence[Tensor]) -> Any:
        """Return the carry after the last step."""
        kinds = self.dtypes if open_brands() else map(strong_dtype, self.dtypes)
        return self.rebuilt(numbers_kept([x.cast(d) for x, d in zip(done, kinds, strict=True)]))

    def check_carry(self, new: Any) -> list[Tensor]:
        """Return the leaves of a step's new carry; raise if its tree differs from the old carry's."""
        old = self.tree
        if tree.paths(new, "") != tree.paths(old, "") or tree.containers(new) != tree.containers(old):
            raise CarryError(
                f"{self.api_name}: the carry has another structure after a step than before",
                ("before", tree.outline(old)),
                ("after", tree.outline(new)),
                fix="return a carry with the structure of the initial one",
            )
        return all_carried(new, f"{self.api_name}: the carry")

    def trace_until_settled(self, body: TracedBody, whole: Sequence[Tensor] = (), goes_on: bool = False) -> Traced:
        """Trace the body until the carry's types no longer change; `Loop.for_all` finds its brands in the same way.

        Each step gets an entry of `whole`.  With `goes_on`, the last result of the body is the condition for another
        step.  Then all carries that change get the brands of the condition.  Python numbers are put on the device of
        the other values.
        """
        device = next((d for x in (*self.given, *whole) if isinstance(d := x.uop.device, str)), None)
        inputs = [LeafType.of(x.uop, 1, device)._replace(is_of_a_loop=True) for x in whole]
        while True:
            traced = trace(self.api_name, body, [*self.types(device), *inputs])
            rows = _rows(traced, [*self.rows, *(t.row for t in inputs)])
            every = rows[-1] if goes_on else ()
            k = len(self.given)
            # a value that no step changes does not depend on the number of steps
            pairs = list(zip(traced.params[:k], traced.leaves, strict=False))
            moves = [y is not p and y is not p.cast(y.dtype) for p, y in pairs]
            if self.settle_types(traced.leaves[:k], [union(r, every * m) for r, m in zip(rows, moves, strict=False)]):
                nexts = [y if m else p for (p, y), m in zip(pairs, moves, strict=True)]
                return traced._replace(leaves=[*nexts, *traced.leaves[k:]])

    def settle_types(self, out: Sequence[UOp], rows: Sequence[Row]) -> bool:
        """Return whether the types agree; if not, widen them for another trace, or raise if they cannot agree."""
        again = False
        first = tree.leaves(self.tree)
        for i, (x, y, row) in enumerate(zip(self.given, out, rows, strict=True)):
            weak = y.dtype in dtypes.weaks and not loses(y.dtype, self.dtypes[i])
            if y.shape != x.shape or (y.dtype != self.dtypes[i] and not weak and not self.loose[i]):
                raise CarryError(
                    f"{self.api_name}: {self.where[i]} changes its type from step to step",
                    ("before", type_text(x.cast(strong_dtype(self.dtypes[i])).uop, ())),
                    ("after", type_text(y.cast(strong_dtype(y.dtype)), ())),
                    fix="cast or reshape it, before the loop or in the body, so that the two agree",
                )
            if y.dtype != self.dtypes[i] and not weak:
                self.dtypes[i], self.loose[i] = carry_dtype(first[i], y.dtype), False
                again = True
            if (wide := union(self.rows[i], row)) != self.rows[i]:
                self.rows[i], again = wide, True
        return not again


def _rows(traced: Traced, rows: Sequence[Row]) -> list[Row]:
    """Return the brands of a body's results, given the brands of its parameters."""
    brands_of = dict(zip(traced.params, rows, strict=True))
    results = replace_ops(traced.leaves, lambda u: copy_for_examples(u, brands_of[u]) if brands_of.get(u) else None)
    return [visible(row_of(x)) for x in results]
