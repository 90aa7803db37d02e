"""A faster graph rewrite: the same rules on the same operations, with less overhead.

tinygrad's loop reads an option in each iteration, calls three functions to find that an operation has no rule, and puts
each operation on a stack twice, although most rules leave most operations unchanged. Here rules that are applied after
the operands run in a simple loop over the graph. The stack is used only for operations that these rules replace.
tinygrad also applies the rules that simplify indices to the same part of a kernel repeatedly, although the result
depends on the part alone. Here these results are cached while a kernel is compiled, or while a graph is split into
kernels.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.private_api import REWRITE_STACK_LIMIT, BottomUpGate

_Waits = tuple[UOp, int, UOp]
_Rule = Callable[[UOp], UOp | None]
_Kind = tuple[Ops, frozenset[Ops]]
"""An operation and the operations of its operands: they determine the rules to try."""
RULES = "_branded_rules"
"""The attribute in which a matcher caches its rules by kind."""
OF_INDICES = "_branded_of_indices"
"""The attribute in which a matcher caches whether all its rules simplify indices."""
KIND = "_branded_kind"
"""The attribute in which a UOp caches its kind."""


class _Rules(dict[_Kind, list[Any]]):
    """The rules of a matcher for each kind; a rule is [pattern, function, required operations of operands]."""

    def __init__(self, by_op: dict[Ops, list[Any]]) -> None:
        super().__init__()
        self.by_op = by_op

    def __missing__(self, kind: _Kind) -> list[Any]:
        op, operands = kind
        rules = self[kind] = [rule for rule in self.by_op.get(op, ()) if rule[2] <= operands]
        return rules


def _kind(u: UOp) -> _Kind:
    kind = u.__dict__[KIND] = _intern((u.op, frozenset([x.op for x in u.src])))
    return kind


@functools.lru_cache(maxsize=4096)
def _intern(kind: _Kind) -> _Kind:
    """Return the first of equal kinds, because lookups by the same object are faster."""
    return kind


def _rule(matcher: Any, ctx: Any) -> _Rule | None:
    """Return the function that applies a matcher to an operation."""
    if matcher is None:
        return None
    if type(matcher).rewrite is not rewrite:
        return lambda u: matcher.rewrite(u, ctx)
    return _bind_rules(matcher, ctx)


def _rules(matcher: Any) -> _Rules:
    rules: _Rules | None = matcher.__dict__.get(RULES)
    if rules is None:
        rules = matcher.__dict__[RULES] = _Rules(matcher.pdict)
    return rules


def _bind_rules(matcher: Any, ctx: Any) -> _Rule:
    rules = _rules(matcher)

    def rule(u: UOp) -> UOp | None:
        for one in rules[u.__dict__.get(KIND) or _kind(u)]:
            out: UOp | None = one[1](u, ctx)
            if out is not None and out is not u:
                return out
        return None

    return rule


def rewrite(self: Any, uop: UOp, ctx: Any = None) -> UOp | None:
    """Return the result of the first rule that matches an operation, or None if none matches."""
    for one in _rules(self)[uop.__dict__.get(KIND) or _kind(uop)]:
        out: UOp | None = one[1](uop, ctx)
        if out is not None and out is not uop:
            return out
    return None


def _join_rules(original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return `PatternMatcher.__add__` with the rules of both matchers, which tinygrad prepares again for each sum."""

    @functools.lru_cache(maxsize=256)  # tinygrad also adds matchers that it makes for one kernel
    def add(self: Any, more: Any) -> Any:
        if not type(self) is type(more) is private_api.ops.PatternMatcher:
            return original(self, more)
        joined = type(self)([])
        joined.patterns = self.patterns + more.patterns
        joined.pdict = _Joined(self.pdict, more.pdict)
        return joined

    return add


class _Joined(dict[Ops, list[Any]]):
    """The rules of two matchers by operation. Most sums see few operations, so a list is joined at its first use."""

    def __init__(self, *parts: Mapping[Ops, list[Any]]) -> None:
        super().__init__()
        self.parts = parts

    def __missing__(self, op: Ops) -> list[Any]:
        rules = self[op] = [rule for part in self.parts for rule in part.get(op, ())]
        return rules

    def get(self, op: Ops, default: Any = None) -> Any:
        return self[op] or default


class _Known(dict[Any, dict[Any, UOp]]):
    """The results of matchers by operation, and of functions by arguments, for each matcher and function."""


class _Here(threading.local):
    """The cache of this thread, if any. The reference is weak: the cache is freed with its frame, even by an error."""

    known: Callable[[], _Known | None] = staticmethod(lambda: None)


_here = _Here()


def with_known_results(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that lowers kernels: results are cached until it returns."""

    @functools.wraps(original)
    def work(*args: Any, **kwargs: Any) -> Any:
        if _here.known() is None:
            cache = _Known()
            _here.known = weakref.ref(cache)
        return original(*args, **kwargs)

    return work


def known_results(key: Any) -> dict[Any, UOp] | None:
    """Return the cached results of a matcher or a function for the kernels at work, or None outside of them."""
    return None if (cache := _here.known()) is None else cache.setdefault(key, {})


@functools.cache
def _rules_of_indices() -> frozenset[int]:
    """Return the ids of the rules whose result depends only on an operation and its operands."""
    matchers = (private_api.sym, private_api.pm_drop_and_clauses, private_api.pm_lower_weak)
    return frozenset(id(f) for matcher in matchers for _, f in matcher.patterns)


def _is_of_indices(matcher: Any) -> bool:
    is_of_indices: bool | None = matcher.__dict__.get(OF_INDICES)
    if is_of_indices is None:
        is_of_indices = matcher.__dict__[OF_INDICES] = all(id(f) in _rules_of_indices() for _, f in matcher.patterns)
    return is_of_indices


def _cached_results(context: Any) -> dict[UOp, UOp] | None:
    """Return the cached results of these rules, or None if the rules depend on more than the operation."""
    if context.ctx is not None or context.bpm is not None or _here.known() is None:
        return None
    matcher = context.pm
    if type(matcher).rewrite is not rewrite or not _is_of_indices(matcher):
        return None
    return known_results(matcher)


class _First:
    """The results of the rules that are applied before the operands are rewritten, cached by operation."""

    def __init__(self, rule: _Rule) -> None:
        self.rule, self.known = rule, dict[UOp, UOp | None]()
        self.now: UOp
        """The operation to which the rules are being applied."""

    def last(self, u: UOp) -> UOp:
        """Apply the rules until none matches, and return the result."""
        rule, results = self.rule, self.known
        seen: set[UOp] | None = None
        while True:
            self.now = u
            if u in results:
                out = results[u]
            else:
                out = results[u] = rule(u)
            if out is None:
                return u
            if seen is None:
                seen = {u}
            if out in seen:
                raise RuntimeError("infinite loop in fixed_point_rewrite")
            seen.add(out)
            u = out


def rebuilt(u: UOp, src: tuple[UOp, ...]) -> UOp:
    """Return an operation on other operands."""
    dtype = u.dtype
    for a, b in zip(u.src, src, strict=False):
        if a.dtype is not b.dtype:
            dtype = private_api.ops.dtype_from_uop(u.op, src, u.arg) or dtype
            break
    return UOp(u.op, dtype, src, u.arg, u.tag)


_CALLS = {Ops.FUNCTION, Ops.CALL}


def unified_rewrite(self: Any, root: UOp) -> UOp:
    """Apply the rules `bpm` before and the rules `pm` after the rewrite of the operands, until none matches."""
    shared = _cached_results(self)
    replace: dict[UOp, UOp] = {} if shared is None else shared
    before, last, is_closed = _rule(self.bpm, self.ctx), _rule(self.pm, self.ctx), not self.enter_calls
    changed = set[UOp]()
    if before is not None or last is None or (order := operands_first(root, replace, changed)) is None:
        return _rewrite(root, before, last, replace, shared is not None, is_closed)
    rules = _rules(self.pm) if type(self.pm).rewrite is rewrite else None
    unaffected, kind_of = changed.isdisjoint, _kind
    for u in order:
        if u in replace:  # a part of the result for another operation
            if replace[u] is not u:
                changed.add(u)
            continue
        if unaffected(u.src):
            no_rules = rules is not None and not rules[u.__dict__.get(KIND) or kind_of(u)]
            if no_rules or (out := last(u)) is None:
                replace[u] = u
                continue
            then = out
        else:
            then = rebuilt(u, tuple([replace[x] for x in u.src]))
        if (result := replace.get(then)) is None:
            result = _rewrite(then, None, last, replace, False, is_closed)
        replace[u] = result
        changed.add(u)
    return replace[root]


def operands_first(root: UOp, replace: dict[UOp, UOp], changed: set[UOp]) -> Iterable[UOp] | None:
    """Return the operations that have no results yet, each after its operands, or None if there is a call.

    Operations that a rule has replaced are added to `changed`.

    Most rules leave most operations unchanged: a loop in this order is faster than a stack of waiting operations.
    """
    if root in replace:
        return []
    order: dict[UOp, None] = {}
    stack: list[Any] = [root]
    pop, push, extend = stack.pop, stack.append, stack.extend
    while stack:
        u = pop()
        if u is None:  # the operands of the next entry are in order
            order[pop()] = None
        elif u not in order:
            if u in replace:
                if replace[u] is not u:
                    changed.add(u)
            elif u.op in _CALLS:
                return None
            elif u.src:
                push(u)
                push(None)
                extend(u.src[::-1])
            else:
                order[u] = None
    return order


def _rewrite(
    root: UOp,
    before: _Rule | None,
    last: _Rule | None,
    replace: dict[UOp, UOp],
    is_shared: bool = False,
    is_closed: bool = False,
) -> UOp:
    """Apply the rules to a graph, with the results in `replace`.

    The stack holds three kinds of entries. (n, 0, n) is not started. (n, 1, new) waits for the operands of `new`, the
    result of the first rules. (n, 2, new) waits for the rewrite of `new`, the result of the last rules.
    """
    first = None if before is None else _First(before)
    limit = REWRITE_STACK_LIMIT.value
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
                    if is_shared:
                        replace, is_shared = dict(replace), False  # only this rewrite leaves the body unchanged
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
                then: UOp | None = rebuilt(new, operands)
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
    context.unified_rewrite = unified_rewrite
    if matcher.__name__ == "PatternMatcher":  # with VIZ or PROFILE, another matcher counts and records the matches
        matcher.rewrite = rewrite
        matcher.__add__ = _join_rules(matcher.__add__)
    private_api.codegen.do_to_program = with_known_results(private_api.codegen.do_to_program)
    private_api.schedule.get_kernel_graph = with_known_results(private_api.schedule.get_kernel_graph)
    private_api.realize.compile_linear = with_known_results(private_api.realize.compile_linear)
