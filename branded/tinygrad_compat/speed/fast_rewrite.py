"""Rules applied to a graph: the same ones to the same operations in the same order, with less around them.

tinygrad's loop asks an option at each turn, and calls three functions to find that there is no rule for an operation.
It applies the rules by which indices are simplified to the same part of a kernel again and again, where nothing but the
part itself says what becomes of it: here that is known while a kernel is made, or a graph is taken apart into kernels.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import REWRITE_STACK_LIMIT, BottomUpGate

_Waits = tuple[UOp, int, UOp]
_Rule = Callable[[UOp], UOp | None]
RULES = "_branded_rules"
"""Where a matcher keeps its rules, by the operations that they are for."""
OF_INDICES = "_branded_of_indices"
"""Where it keeps whether they are those of indices."""
OPERANDS = "_branded_operands"
"""Where a UOp keeps the operations of its operands."""
FEW = 4
"""So many rules are gone through; more of them are looked up by the operations of the operands."""


class _Rules(dict[frozenset[Ops], list[Any]]):
    """The rules for an operation, by those of its operands: a rule is [pattern, function, which operands it needs]."""

    def __init__(self, all_: list[Any]) -> None:
        super().__init__()
        self.all = all_

    def __missing__(self, operands: frozenset[Ops]) -> list[Any]:
        found = self[operands] = [rule for rule in self.all if rule[2] <= operands]
        return found


def _rules(matcher: Any) -> dict[Ops, list[Any] | _Rules]:
    found: dict[Ops, list[Any] | _Rules] | None = matcher.__dict__.get(RULES)
    if found is None:
        found = {op: rules if len(rules) <= FEW else _Rules(rules) for op, rules in matcher.pdict.items()}
        matcher.__dict__[RULES] = found
    return found


def _rule(matcher: Any, ctx: Any) -> _Rule | None:
    """What a matcher makes of an operation."""
    if matcher is None:
        return None
    if type(matcher).rewrite is not rewrite:
        return lambda u: matcher.rewrite(u, ctx)
    return _applied(matcher, ctx)


def _applied(matcher: Any, ctx: Any) -> _Rule:
    for_op = _rules(matcher).get

    def rule(u: UOp) -> UOp | None:
        if (rules := for_op(u.op)) is None:
            return None
        known = u.__dict__
        if (operands := known.get(OPERANDS)) is None:
            operands = known[OPERANDS] = frozenset([x.op for x in u.src])
        for one in rules[operands] if isinstance(rules, _Rules) else rules:
            if one[2] <= operands:
                out: UOp | None = one[1](u, ctx)
                if out is not None and out is not u:
                    return out
        return None

    return rule


def rewrite(self: Any, uop: UOp, ctx: Any = None) -> UOp | None:
    """What the first rule that matches makes of an operation; None where none does."""
    return _applied(self, ctx)(uop)


# ---- what is known while a kernel is made ----


class _Known(dict[Any, dict[UOp, UOp]]):
    """What matchers have made of operations, by the matcher."""


class _Here(threading.local):
    """The work of this thread: none, or what is known in it, which goes when its frame does, however that ends."""

    known: Callable[[], _Known | None] = staticmethod(lambda: None)


_here = _Here()


def _known_within(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def work(*args: Any, **kwargs: Any) -> Any:
        if _here.known() is None:
            known = _Known()
            _here.known = weakref.ref(known)
        return original(*args, **kwargs)

    return work


@functools.cache
def _rules_of_indices() -> frozenset[int]:
    """The functions that say what becomes of an operation by itself and its operands alone."""
    matchers = (private_api.sym, private_api.pm_drop_and_clauses, private_api.pm_lower_weak)
    return frozenset(id(f) for matcher in matchers for _, f in matcher.patterns)


def _is_of_indices(matcher: Any) -> bool:
    found: bool | None = matcher.__dict__.get(OF_INDICES)
    if found is None:
        found = matcher.__dict__[OF_INDICES] = all(id(f) in _rules_of_indices() for _, f in matcher.patterns)
    return found


def _known(context: Any) -> dict[UOp, UOp] | None:
    """What is known of these rules before they are applied; None of rules that depend on more."""
    if context.ctx is not None or context.bpm is not None or (known := _here.known()) is None:
        return None
    matcher = context.pm
    if type(matcher).rewrite is not rewrite or not _is_of_indices(matcher):
        return None
    return known.setdefault(matcher, {})


# ---- rules applied to a graph ----


class _First:
    """What the rules that come before the operands make of an operation: each is asked for once."""

    def __init__(self, rule: _Rule) -> None:
        self.rule, self.known = rule, dict[UOp, UOp | None]()
        self.now: UOp
        """The operation that they are asked for."""

    def last(self, u: UOp) -> UOp:
        """What none of them matches any more."""
        rule, known = self.rule, self.known
        seen: set[UOp] | None = None
        while True:
            self.now = u
            if u in known:
                out = known[u]
            else:
                out = known[u] = rule(u)
            if out is None:
                return u
            if seen is None:
                seen = {u}
            if out in seen:
                raise RuntimeError("infinite loop in fixed_point_rewrite")
            seen.add(out)
            u = out


def _rebuilt(u: UOp, src: tuple[UOp, ...]) -> UOp:
    dtype = u.dtype
    for a, b in zip(u.src, src, strict=False):
        if a.dtype is not b.dtype:
            dtype = private_api.ops.dtype_from_uop(u.op, src, u.arg) or dtype
            break
    return UOp(u.op, dtype, src, u.arg, u.tag)


_CALLS = {Ops.FUNCTION, Ops.CALL}


def unified_rewrite(self: Any, root: UOp) -> UOp:
    """Rules that come before the operands (`bpm`) and behind them (`pm`), until none matches.

    What is on the stack waits: (n, 0, n) to be begun, (n, 1, new) for the operands of what the first rules have made of
    it, (n, 2, new) for what becomes of that which the last rules have made of it.
    """
    shared = _known(self)
    replace: dict[UOp, UOp] = {} if shared is None else shared
    before, last = _rule(self.bpm, self.ctx), _rule(self.pm, self.ctx)
    first = None if before is None else _First(before)
    limit, is_closed = REWRITE_STACK_LIMIT.value, not self.enter_calls
    stack: list[_Waits] = [(root, 0, root)]
    begun, waiting = {root}, dict[UOp, list[_Waits]]()
    push, pop = stack.append, stack.pop
    while stack:
        if len(stack) > limit:
            raise RuntimeError("infinite loop in graph_rewrite (stack too big)")
        n, stage, new = pop()
        if n in replace:
            continue
        if stage == 0:
            if first is not None:
                try:
                    new = first.last(n)
                except BottomUpGate:
                    stage, new = 3, first.now
            if stage == 0:
                if is_closed and new.op in _CALLS and private_api.has_body(new):
                    if shared is not None:
                        replace, shared = dict(shared), None  # a body is left as it is here, and not elsewhere
                    replace[new.src[0]] = new.src[0]
                push(top := (n, 1, new))
                for x in new.src[::-1]:
                    if x not in begun and x not in replace:
                        begun.add(x)
                        push((x, 0, x))
                if stack[-1] is not top:
                    continue
                stage, _ = 1, pop()
        if stage == 1:
            src, missing = [], None
            for x in new.src:
                if (y := replace.get(x)) is None:
                    missing = x
                    break
                src.append(y)
            if missing is not None:
                waiting.setdefault(missing, []).append((n, 1, new))
                continue
            if (operands := tuple(src)) != new.src:
                then: UOp | None = _rebuilt(new, operands)
            else:
                then = None if last is None else last(new)
            if then is not None:
                if (y := replace.get(then)) is None:
                    push((n, 2, then))
                    push((then, 0, then))
                    continue
                new = y
        elif stage == 2:
            if (y := replace.get(new)) is None:
                waiting.setdefault(new, []).append((n, 2, new))
                continue
            new = y
        replace[n] = new
        if n in waiting:
            stack += waiting.pop(n)
    return replace[root]


def install() -> None:
    matcher, context = private_api.ops.PatternMatcher, private_api.ops.RewriteContext
    setattr(rewrite, "__wrapped__", matcher.rewrite)  # noqa: B010  mypy: a function has no such attribute
    setattr(unified_rewrite, "__wrapped__", context.unified_rewrite)  # noqa: B010
    matcher.rewrite, context.unified_rewrite = rewrite, unified_rewrite
    private_api.codegen.do_to_program = _known_within(private_api.codegen.do_to_program)
    private_api.schedule.get_kernel_graph = _known_within(private_api.schedule.get_kernel_graph)
    private_api.realize.compile_linear = _known_within(private_api.realize.compile_linear)
