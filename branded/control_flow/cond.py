"""Branches: cond and switch.

If one predicate holds for all examples, one branch runs. If each example has its own predicate, all branches are
computed and each example selects the values of its branch. Each value from outside enters a branch through a gate: an
operation that makes the derivative zero for the examples that did not take the branch. So a NaN in an unused branch
does not reach their derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, TypeVarTuple, Unpack, overload

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops, UOp

from branded import tree
from branded.control_flow.effects import calls_of
from branded.core.boundary import live_tensor
from branded.core.brand import Brand
from branded.core.entry import entry
from branded.core.tracing import recording
from branded.core.tracing.body import loses, numbers_kept
from branded.core.tracing.effect_tokens import body, is_through_a_body, under_predicate
from branded.core.tracing.predication import predicate
from branded.core.validation.arguments import check_takes
from branded.core.values import vec_type
from branded.errors import CarryError
from branded.graph.rows import check_live, is_differentiated, row_of
from branded.graph.scope import branch, open_brands
from branded.graph.tags import new_storage
from branded.graph.uops import living_tensors, replace_ops, tensor
from branded.tinygrad_compat.context_stack import run_then_undo
from branded.tinygrad_compat.private_api import _function, capturing
from branded.vec import Vec

R = TypeVar("R")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)


def _is_known(x: Tensor) -> bool:
    """Return whether the value may be read now, to decide which branch runs."""
    return not row_of(x.uop) and not _function.depth and not capturing and not is_through_a_body()


def _scalar(x: Any, api_name: str, kind: str) -> Any:
    if isinstance(x, bool | int | float):
        return x
    original, x = x, tree.as_tensor(x)
    if x is None or x.shape:
        raise CarryError(
            f"{api_name}: the {kind} is {tree.describe(original)}, and must be a scalar for each example",
            fix="use .any() or .all(), where() for an elementwise choice, or vmap for one choice per example",
        )
    check_live(x.uop, api_name)
    return x


def _gate(x: UOp, flag: UOp) -> UOp:
    """Return `x` with a zero derivative for examples where `flag` is false."""
    return flag.where(x, UOp(Ops.DETACH, x.dtype, (x,))) if dtypes.is_float(x.dtype) else x


def _seen_through_gates(alive: Sequence[Tensor], flag: UOp, run: Callable[[], T]) -> tuple[T, dict[UOp, UOp]]:
    """Run a branch with a gate at each differentiated value from outside.

    A branch may compute a value that already exists outside. Both are then the same UOp and cannot be distinguished
    later. So the outside tensors get another UOp while the branch runs. Example: `lambda: w * w`, with a gate at `w`.

        before      w.uop is u
        meanwhile   w.uop is where(flag, u, DETACH(u)): the same value, whose derivative is zero where `flag` is false
        after       w.uop is u again, or the value that the branch has assigned to it
    """
    swapped = [(t, t.uop, _gate(t.uop, flag)) for t in alive if is_differentiated(t.uop)]

    def gated() -> T:
        for t, _, gate in swapped:
            t.uop = gate
        return run()

    def restored() -> None:
        for t, u, gate in swapped:
            if t.uop is gate:
                t.uop = u

    return run_then_undo(gated, restored), {gate: u for _, u, gate in swapped}


def _shared(outs: Sequence[UOp], insides: Sequence[dict[UOp, UOp]]) -> UOp | None:
    """Return the outside value that all branches return, so that no selection is needed; else None."""
    outside = set[UOp]()
    for u, inside in zip(outs, insides, strict=True):
        graph = UOp(Ops.SINK, src=(u,)).toposort(lambda v, ends=inside: v not in ends, enter_calls=False)
        if any(v.op is Ops.STORE for v in graph):  # a write into the branch's copy of an operand
            return None
        outside |= {*replace_ops([u], lambda _: None, at=inside)}
        if len(outside) > 1:
            return None
    return outside.pop()


def _add_gates(outs: Sequence[UOp], flag: UOp, before: set[UOp], operands: set[UOp], done: set[UOp]) -> list[UOp]:
    """Return the results of a branch with a gate at every outside value it uses; values in `done` stay unchanged."""
    outside = before | operands
    outs = predicate(outs, flag, done=done)
    nodes = UOp(Ops.SINK, src=tuple(outs)).toposort(lambda u: u not in outside, enter_calls=False)
    used = {s for u in nodes for s in u.src if s in before and s not in operands}
    env = {s: _gate(s, flag) for s in used if s.op is not Ops.CONST}
    for u in nodes:
        if u not in done and not env.keys().isdisjoint(u.src):
            env[u] = u.replace(src=tuple(env.get(s, s) for s in u.src))
    return [env.get(u, u) for u in outs]


def _uops(x: Any) -> list[UOp]:
    return [t.uop for v in tree.leaves(x) if (t := tree.as_tensor(v)) is not None]


def _leaves(out: Any, api_name: str, name: str) -> list[Any]:
    pairs = zip(tree.leaves(out), tree.paths(out, f"{api_name}: the result"), strict=True)
    ts = [
        (x, live_tensor(x, f"{path} of {name}", CarryError, "use tensors, numbers, or pytrees of these"))
        for x, path in pairs
    ]
    return [x if isinstance(x, bool | int | float) else t for x, t in ts]


def _matching_leaves(api_name: str, names: Sequence[str], outs: Sequence[Any]) -> list[list[Tensor]]:
    """Return the leaves of the branches' results; raise if trees, shapes or dtypes differ."""
    all_leaves = [_leaves(out, api_name, name) for out, name in zip(outs, names, strict=True)]
    for out, name in zip(outs[1:], names[1:], strict=True):
        if tree.paths(out, "") != tree.paths(outs[0], ""):
            raise CarryError(
                f"{api_name}: the branches return different structures",
                (names[0], tree.outline(outs[0])),
                (name, tree.outline(out)),
                fix="return the same structure from each branch",
            )
    result: list[list[Tensor]] = []
    for path, xs in zip(tree.paths(outs[0], "the result"), zip(*all_leaves, strict=True), strict=True):
        like, chosen = _like(xs)
        has_dtype = like.dtype not in dtypes.weaks or not open_brands()
        same = []
        for x, name in zip(xs, names, strict=True):
            if has_dtype:
                tree.check_fits(x, like.dtype, f"{api_name}: {path} of {name}")
            t = x if isinstance(x, Tensor) else Tensor(x)
            if (not isinstance(x, Tensor) or x.dtype in dtypes.weaks) and not loses(t.dtype, like.dtype):
                t = t.cast(like.dtype)
            if t.shape != like.shape or t.dtype != like.dtype:
                raise CarryError(
                    f"{api_name}: the branches return different types for {path}",
                    (names[chosen], vec_type(like)),
                    (name, vec_type(t)),
                    fix="cast or reshape one of them, so that the shapes and dtypes agree",
                )
            same.append(t)
        result.append(same)
    return result


def _like(xs: Sequence[Any]) -> tuple[Tensor, int]:
    """Return the value whose type the others must have: a tensor if there is one, as Python numbers take its dtype.

    If all are numbers, the result in a traced body is a number too, as with `where`: it takes the dtype of the other
    operand.
    """
    strong = [i for i, x in enumerate(xs) if isinstance(x, Tensor) and x.dtype not in dtypes.weaks]
    ts = [x if isinstance(x, Tensor) else Tensor(x) for x in xs]
    kinds = [(dtypes.is_float(t.dtype), t.dtype != dtypes.bool) for t in ts]
    i = strong[0] if strong else max(range(len(xs)), key=kinds.__getitem__)
    return ts[i], i


def _branch(
    api_name: str,
    names: Sequence[str],
    branches: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
    chosen: Any,
    decided: UOp | None = None,
) -> Any:
    """Return the result of one branch, selected by its index, or by one flag per branch computed from `decided`."""
    for f, name in zip(branches, names, strict=True):
        if not callable(f):
            raise CarryError(
                f"{api_name}: {name} is {tree.describe(f)}, not a function",
                fix="pass a function: lambda *_: value for a value",
            )
        check_takes(f, operands, {}, f"{api_name}: {name}", "give every branch one parameter per operand")
    if isinstance(chosen, int):  # do not run the other branches: they may write, or be slow
        out = branches[chosen](*operands)
        return tree.rebuild(out, iter([t for (t,) in _matching_leaves(api_name, names[chosen : chosen + 1], [out])]))
    with recording.record_structure() as structure:
        out = _select_branches(api_name, names, branches, operands, chosen)
        if structure is not None:
            bodies = structure.bodies[-len(branches) :]
            by_name = dict(zip(names, bodies, strict=True)) if api_name == "cond" else {"branches": bodies}
            structure.put(api_name, [decided, *_uops(operands)], {}, _uops(out), by_name)
    return out


def _select_branches(
    api_name: str,
    names: Sequence[str],
    branches: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
    flags: list[UOp],
) -> Any:
    """Compute all branches and select for each example. Example: `cond(p, f, g, x)`, with `a` from outside.

    f runs     on where(p, x, DETACH(x)); `a`, if it is differentiated, is where(p, a, DETACH(a))
    f gave y   then every other outside value that y depends on gets such a gate
    g gave z   the same with `not p`; the result is where(p, y, z), or y alone if z without its gates equals y
    """
    alive = [t for t in living_tensors() if dtypes.is_float(t.dtype)]
    before = {t.uop for t in alive}
    runs = [_run_branch(api_name, f, operands, flag, alive) for f, flag in zip(branches, flags, strict=True)]
    outs = [out for out, _ in runs]
    leaves = _matching_leaves(api_name, names, outs)
    if not leaves:
        return outs[0]
    around = body()
    done = calls_of(around.token) if around is not None else set[UOp]()
    insides = [inside for _, inside in runs]
    shared = [_shared([t.uop for t in ts], insides) for ts in leaves]
    chosen = [[t.uop for t in ts] for ts, u in zip(leaves, shared, strict=True) if u is None]
    by_branch = [
        _add_gates([ys[k] for ys in chosen], flag, before, {*inside}, done)
        for k, (flag, inside) in enumerate(zip(flags, insides, strict=True))
    ]
    each = iter([_select_value(flags, ys) for ys in zip(*by_branch, strict=True)])
    return tree.rebuild(outs[0], iter(numbers_kept([tensor(next(each) if u is None else u) for u in shared])))


def _run_branch(
    api_name: str, f: Callable[..., Any], operands: tuple[Any, ...], flag: UOp, alive: Sequence[Tensor]
) -> tuple[Any, dict[UOp, UOp]]:
    """Return the result of a branch, and the outside value for each gated operand and tensor in it."""
    inside: dict[UOp, UOp] = {}

    def gated(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        check_live(x.uop, api_name)
        u = new_storage(_gate(x.uop, flag))  # a branch may write into its operands
        inside[u] = x.uop
        return tensor(u)

    def traced() -> Any:
        with branch(), under_predicate(flag), recording.body() as done:
            gated_operands = [tree.rebuild(x, iter([gated(v) for v in tree.leaves(x)])) for x in operands]
            out = f(*gated_operands)
            done(_uops(gated_operands), _uops(out))
            return out

    out, gates = _seen_through_gates(alive, flag, traced)
    return out, {u: gates.get(x, x) for u, x in inside.items()} | gates


def _select_value(flags: Sequence[UOp], ys: Sequence[UOp]) -> UOp:
    """Select for each example the value of its branch; the last branch needs no flag: `where(p, x, where(q, y, z))`."""
    out = ys[-1]
    for flag, y in zip(flags[-2::-1], ys[-2::-1], strict=True):
        out = out if y is out else flag.where(y, out)
    return out


@overload
def cond(
    pred: bool | Vec[S],
    true_fun: Callable[[Unpack[Ts]], Vec[S1, T]],
    false_fun: Callable[[Unpack[Ts]], Vec[S1, T]],
    *operands: *Ts,
) -> Vec[S | S1, T]: ...
@overload
def cond(
    pred: bool | Vec[Brand], true_fun: Callable[[Unpack[Ts]], R], false_fun: Callable[[Unpack[Ts]], R], *operands: *Ts
) -> R: ...
@entry  # type: ignore[misc]
def cond(pred: Any, true_fun: Any, false_fun: Any, *operands: Any) -> Any:
    """Select one of two functions: `cond(p, f, g, *xs)` is `f(*xs) if p else g(*xs)`.

    If all examples share the predicate, it is read and one branch runs. If the predicate is batched, or unknown at
    trace time (in a loop body, under TinyJit, in a @function), both branches are computed. Each example then selects
    its own values and derivatives, without a NaN from the other branch.

    Args:
        pred: One bool (`bool[]`, or a number that is true if it is not zero).
        true_fun: A function of the operands.
        false_fun: A function of the operands, with a result of the same tree, shapes and dtypes.
        operands: Trees of tensors.

    Returns:
        The result of the branch.

    Raises:
        CarryError: The predicate is not one bool, or the branches disagree (the message names the leaf).

    Example:
        >>> from branded import cond, grad, vmap
        >>> from tinygrad import Tensor
        >>> def root(x): return cond(x > 0, lambda x: x.sqrt(), lambda x: 0 * x, x)
        >>> vmap(root)(Tensor([4.0, -1.0])).tolist(), vmap(grad(root))(Tensor([4.0, -1.0])).tolist()
        ([2.0, 0.0], [0.25, 0.0])

    Source: `jax.lax.cond`.
    """
    p = _scalar(pred, "cond", "predicate")
    names = ("true_fun", "false_fun")
    if isinstance(p, Tensor) and not _is_known(p):
        flag = p.uop if p.dtype == dtypes.bool else p.uop.ne(0)
        return _branch("cond", names, (true_fun, false_fun), operands, [flag, flag.logical_not()], p.uop)
    value = bool(p.item()) if isinstance(p, Tensor) else bool(p)
    return _branch("cond", names, (true_fun, false_fun), operands, 0 if value else 1)


@overload
def switch(
    index: int | Vec[S], branches: Sequence[Callable[[Unpack[Ts]], Vec[S1, T]]], *operands: *Ts
) -> Vec[S | S1, T]: ...
@overload
def switch(index: int | Vec[Brand], branches: Sequence[Callable[[Unpack[Ts]], R]], *operands: *Ts) -> R: ...
@entry  # type: ignore[misc]
def switch(index: Any, branches: Any, *operands: Any) -> Any:
    """Select one of several functions: `switch(i, fs, *xs)` is `fs[i](*xs)`, with `i` clamped to the valid range.

    Args:
        index: One int (`i32[]`), or a bool, which counts as 0 or 1. Like the predicate of `cond`, it is read if all
            examples share it.
        branches: Functions of the operands, whose results have the same tree, shapes and dtypes.
        operands: Trees of tensors.

    Returns:
        The result of the branch.

    Raises:
        CarryError: The index is not one int, there are no branches, or they disagree.

    Example:
        >>> from branded import switch, vmap
        >>> from tinygrad import Tensor
        >>> fs = [lambda x: x, lambda x: x * 10, lambda x: x * 100]
        >>> vmap(lambda i, x: switch(i, fs, x))(Tensor([0, 1, 7]), Tensor([1, 2, 3])).tolist()
        [1, 20, 300]

    Source: `jax.lax.switch`.
    """
    i = _scalar(index, "switch", "index")
    if isinstance(branches, Sequence) and not branches:
        raise CarryError("switch: there are no branches", fix="pass a sequence of functions")
    if not isinstance(branches, Sequence):
        raise CarryError(f"switch: the branches are {tree.describe(branches)}", fix="pass a sequence of functions")
    n = len(branches)
    if isinstance(i, Tensor) and i.dtype == dtypes.bool:
        i = i.cast(dtypes.int32)
    if isinstance(i, float) or (isinstance(i, Tensor) and not dtypes.is_int(i.dtype)):
        raise CarryError(
            f"switch: the index is {tree.describe(i)}, not an int", fix='pass an int, or use .cast("int32")'
        )
    names = [f"branches[{k}]" for k in range(n)]
    if isinstance(i, Tensor) and not _is_known(i) and n > 1:
        clamped = i.clip(0, n - 1)
        return _branch("switch", names, branches, operands, [clamped.eq(k).uop for k in range(n)], i.uop)
    value = int(i.item()) if isinstance(i, Tensor) and n > 1 else 0 if isinstance(i, Tensor) else i
    return _branch("switch", names, branches, operands, min(max(value, 0), n - 1))
