"""Calls with a custom derivative rule, as primitives: the nodes that custom_jvp and custom_vjp put into a graph."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from tinygrad import dtypes
from tinygrad.uop.ops import UOp

from branded import tree
from branded.autodiff.custom_rules.tangent_rows import RowWideningCall
from branded.autodiff.reverse import ran_again
from branded.core.batching.function import Examples, batch_body
from branded.core.tracing.effect_tokens import RuleBody, given_to, under_predicate
from branded.core.tracing.predication import predicate, safe_body
from branded.errors import DerivativeError
from branded.graph.primitive import Batched, BatchingRun, Bundle
from branded.graph.rows import has_brand
from branded.graph.scope import Row, Scope
from branded.graph.tags import is_symbolic_zero
from branded.graph.uops import against, replace_ops
from branded.tinygrad_compat.context_stack import ContextEntry
from branded.tinygrad_compat.private_api import CallInfo

T = TypeVar("T", UOp, "UOp | None")
Backward = tuple[list["UOp | None"], "list[UOp] | None"]


class RuledCall(RowWideningCall):
    """A call of a function with a custom derivative rule, and the trees of its arguments and results.

    A batched call is the same primitive; its rule still handles one example.
    """

    is_rule = True
    exchanges = False
    """Whether the body distinguishes examples (as with `axis_index`), so equal arguments may give different results."""

    flag: int | None = None
    """The slot of the argument that marks the examples that take the branch containing this call."""

    def __init__(self, f: Any, args: tuple[Any, ...], tensors: int, out: Any, examples: Examples) -> None:
        self.f, self.args, self.tensors, self.out, self.examples = f, args, tensors, out, examples
        self.steps: dict[UOp, tuple[int, Scope]] = {}
        """For each placeholder of a value of a loop step that the rule may use: its argument slot, and the loop."""

    def _variant(self, key: Hashable, changes: Callable[[], Mapping[str, Any]]) -> Self:
        """Return a copy with changes, which is the same for equal keys.

        A call that is batched several times in the same way thus gives the same UOp, and a derivative finds its leaves.
        """
        variants = _VARIANTS.setdefault(self, WeakValueDictionary())
        call: Self | None = variants.get(key)
        if call is None:
            call = variants[key] = copy(self)
            call.__dict__.update(changes())
        return call

    def arguments(self, xs: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments of the function with their tensors replaced by `xs`."""
        new = iter(xs)
        return tuple(
            a if i in self.f.static else tree.rebuild(a, iter([next(new) for _ in tree.leaves(a)]))
            for i, a in enumerate(self.args)
        )

    def split(self, args: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Split the arguments into nondifferentiable and differentiable ones."""
        return tuple(a for i, a in enumerate(args) if i in self.f.static), tuple(
            a for i, a in enumerate(args) if i not in self.f.static
        )

    def in_step(self) -> ContextEntry[Mapping[UOp, Scope]]:
        """Return a block for the rule, in which calls of custom functions may use the values of the same loop steps."""
        return given_to({place: steps for place, (_, steps) in self.steps.items()})

    def of_step(self, us: Sequence[T], xs: Sequence[UOp]) -> list[T]:
        """Replace the placeholders of step values in the rule's results by the arguments that hold the values."""
        value_of = {place: xs[slot].cast(place.dtype) for place, (slot, _) in self.steps.items()}
        new: Iterator[Any] = iter(replace_ops([u for u in us if u is not None], lambda _: None, at=value_of))
        return [u if u is None else next(new) for u in us]

    def of_arguments(self, u: UOp, tangents: Sequence[UOp | None]) -> list[UOp | None]:
        """Return the tangents of the arguments; raise if a closed-over value that the result uses has a tangent."""
        used = itertools.chain.from_iterable(self.uses(u, i) for i in range(len(u.src[0].src)))
        self.check_closure(i for i in used if tangents[i] is not None)
        return [d if i < self.tensors else None for i, d in enumerate(tangents)]

    def check_closure(self, differentiated: Iterable[int]) -> None:
        """Raise if a closed-over value is differentiated, because the rule handles only the arguments."""
        if any(i >= self.tensors for i in differentiated):
            raise DerivativeError(
                f"{self.f.api_name}: {self.f.name} closes over a differentiated value that its rule does not handle",
                fix="pass it as an argument, or use stop_gradient(value) in the function",
            )

    def batch(self, u: UOp, run: BatchingRun, args: Sequence[Batched]) -> Bundle:
        """Batch the function; each result varies over the brands that it has in the batched body."""
        out, rows = batch_body(u, run, args), tuple(a.row for a in args)
        exchanges = self.exchanges or has_brand(u.src[0])
        call = self._variant(
            (rows, tuple(out.rows), exchanges),
            lambda: {"examples": self.examples.over(rows, out.rows), "exchanges": exchanges},
        )
        return out._replace(uop=out.uop.replace(arg=CallInfo(name=u.arg.name, aux=call)))

    def predicated(self, u: UOp, flag: UOp, effects: bool) -> UOp:
        """Predicate the function and its rule: host calls and divisions run only for the examples with this flag."""
        if (i := self.flag) is not None:
            condition = u.src[1 + i]
            return u.replace(src=(*u.src[: 1 + i], condition & against(flag, condition), *u.src[2 + i :]))
        examples = self.examples
        call = self._variant(
            slot := len(u.src) - 1,
            lambda: {"flag": slot, "examples": Examples([*examples.rows, ()], examples.results, examples.scope)},
        )
        new = safe_body(u, flag, effects)
        new = u.replace(src=(*u.src, flag)) if new is None else new
        return new.replace(arg=CallInfo(name=u.arg.name, aux=call))

    def _in_branch(self, xs: Sequence[UOp]) -> AbstractContextManager[object]:
        return nullcontext() if self.flag is None else under_predicate(xs[self.flag])

    def _safe(self, us: Sequence[UOp | None], xs: Sequence[UOp], rule_inputs: Sequence[UOp | None]) -> list[UOp | None]:
        """Predicate the results of a rule for examples in another branch; the inputs of the rule stay unchanged."""
        if self.flag is None:
            return list(us)
        done = [x for x in (*xs, *rule_inputs) if x is not None]
        new = iter(predicate([u for u in us if u is not None], xs[self.flag], done=done))
        return [None if u is None else next(new) for u in us]

    def invariant_inputs(self, u: UOp, i: int, axis: int) -> list[tuple[int, int]] | None:
        """Return slot and axis of the used arguments that vary over the brand at `axis`.

        None if examples exchange values in the body.
        """
        if self.exchanges or axis >= len(row := self.examples.results[i]):
            return None
        rows = self.examples.rows
        return [(slot, rows[slot].index(row[axis])) for slot in self.uses(u, i) if row[axis] in rows[slot]]

    def tangent_inputs(self, u: UOp, i: int) -> set[int]:
        """Return all arguments: the rule may give derivatives for arguments that the result does not use."""
        return self.uses(u, i) | {*range(self.tensors)}

    def means(self, u: UOp, i: int) -> set[int]:
        """Return the arguments that the result uses, and the arguments all of whose brands the result has."""
        row, rows = {*self.examples.results[i]}, self.examples.rows
        unused = (slot for slot in range(self.tensors) if row.issuperset(rows[slot]))
        return self.uses(u, i).union(unused)

    def jvp(self, u: UOp, tangents: Sequence[UOp | None]) -> tuple[UOp, list[int | None]]:
        tangents = self.of_arguments(u, tangents)
        if all(d is None for d in tangents):
            return UOp.maketuple(), [None] * len(u.src[0].src)
        must = RuleBody((*u.src[1:], *tangents))
        with must.collected(), self.examples.reopen_brands() as closed:
            ts = self.examples.tangents(tangents)
            xs = self.examples.arguments(u.src[1:])
            with self._in_branch(xs):
                ds = [d for d in self._safe(self.forward(xs, ts), xs, ts) if d is not None]
            self.check_rows(u, xs, {i for i, d in enumerate(ds) if not is_symbolic_zero(d)}, closed)
        rule_tangents: list[UOp | None] = []
        for i, d in enumerate(ds):
            meant = self.means(u, i)
            self._check_meant(i, d, {slot: t for slot, t in enumerate(ts) if t is not None and slot not in meant})
            moved = any(tangents[slot] is not None for slot in meant)
            rule_tangents.append(d if moved and dtypes.is_float(d.dtype) and not is_symbolic_zero(d) else None)
        done = self.examples.of_all(must.before_use(rule_tangents), closed)
        where = itertools.count()
        return UOp.maketuple(*(d for d in done if d is not None)), [None if d is None else next(where) for d in done]

    def vjp(self, u: UOp, cotangents: Sequence[UOp | None], needed: Set[int]) -> list[UOp | None]:
        """Run the rule for one example, with the brands of the batch open.

        Example: `y = f(x, n)` with `x: Vec[S, f32]` and an int `n`, given a cotangent of y, with both arguments needed.

            meant {0: {0, 1}}    used {0}, an int has none    grads [g, None]    gives [g of all examples, None]
        """
        meant = {i: self.means(u, i) for i, ct in enumerate(cotangents) if ct is not None}
        floats = {i for i in needed if dtypes.is_float(u.src[1 + i].dtype)}
        used = floats.intersection(itertools.chain.from_iterable(meant.values()))
        self.check_closure(used)
        wanted = used | {i for i in floats if i < self.tensors and meant}  # for the others the rule must return None
        must = RuleBody((*u.src[1:], *cotangents))
        with must.collected(), self.examples.reopen_brands() as closed:
            xs, cts = self.examples.arguments(u.src[1:]), self.examples.cotangents(cotangents)
            with self._in_branch(xs):
                grads, values = self.backward(xs, cts, wanted)
            grads = self._safe(grads, xs, cts)
            if values is not None:
                values = [y for y in self._safe(values, xs, ()) if y is not None]
            self.check_rows(u, xs, {*meant}, closed)
            for i, slot in ((i, slot) for i, slots in meant.items() for slot in wanted - slots):
                if (g := grads[slot]) is not None and (ct := cts[i]) is not None:
                    self._check_meant(i, g, {slot: ct})
        if values is not None:
            ran_again(u, self._of_all(values, closed))
        selected = [g if i in used and g is not None and not is_symbolic_zero(g) else None for i, g in enumerate(grads)]
        return self.examples.totals([*must.before_use(selected), *[None] * (len(xs) - len(selected))], closed)

    def _of_all(self, values: Sequence[UOp], closed: Row) -> list[UOp]:
        """Return the results for all examples, given the results of one."""
        return [x for x in self.examples.of_all(values, closed) if x is not None]

    def _check_meant(self, i: int, derivative: UOp, others: dict[int, UOp]) -> None:
        """Raise if a result that all examples share has a derivative with respect to a batched argument."""
        if not others or (graph := derivative.toposort()).keys().isdisjoint(others.values()):
            return
        slot = next(slot for slot, x in others.items() if x in graph)
        names = ", ".join(f"`{b.name}`" for b in self.examples.rows[slot] if b not in self.examples.results[i])
        paths = [
            p for k, a in enumerate(self.args) if k not in self.f.static for p in tree.paths(a, f"argument {k + 1}")
        ]
        raise DerivativeError(
            f"{self.f.api_name}: the rule of {self.f.name} returns a derivative with respect to a value "
            "that a result does not use",
            ("result", f"{tree.paths(self.out, 'the result')[i]}, the same for all examples of {names}"),
            ("argument", f"{paths[slot]}, which differs from example to example"),
            fix="use the argument in this result of the function: `y + 0 * x`",
        )

    def forward(self, xs: Sequence[UOp], tangents: Sequence[UOp | None]) -> list[UOp]:
        """Return the tangents of the results of one example."""
        raise NotImplementedError

    def backward(self, xs: Sequence[UOp], cotangents: Sequence[UOp | None], needed: Set[int]) -> Backward:
        """Return the cotangents of the arguments of one example, and its results if the rule computes them too."""
        raise NotImplementedError


_VARIANTS: WeakKeyDictionary[RuledCall, WeakValueDictionary[Hashable, Any]] = WeakKeyDictionary()
"""The changed copies of each call that graphs still use."""
