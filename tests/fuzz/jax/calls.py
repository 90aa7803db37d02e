"""Statements with inner functions: maps, derivatives, control flow, custom rules, and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.fuzz.jax.drawing import CALLS, Axis, Draw, Make, Scope, register
from tests.fuzz.jax.form import Function, Type, Var


def call(weight: float) -> Callable[[Make], Make]:
    return register(CALLS, weight)


def listed(n: int, start: int = 0) -> str:
    return ", ".join(f"${i}" for i in range(start, start + n))


def tupled(n: int, start: int = 0) -> str:
    return f"({listed(n, start)}{',' if n == 1 else ''})"


def some(d: Draw, s: Scope, n: int, ok: Callable[[Var], bool]) -> list[Var]:
    found = [v for _ in range(n) if (v := d.pick(s, ok)) is not None]
    return list(dict.fromkeys(found))


def like(
    d: Draw, outs: Sequence[Var], row: frozenset[int], shapes: Sequence[tuple[int, ...]] | None = None
) -> list[Var]:
    """Return variables for the results of a call that returns the results of its function."""
    made = []
    for i, o in enumerate(outs):
        v = d.var(Type(shapes[i] if shapes else o.type.shape, o.type.dtype), o.bits, o.size, row)
        made.append(v)
    return made


def differentiable(v: Var) -> bool:
    return v.type.is_float and 0 < v.type.numel <= 8


# ---- maps ----


@call(7)
def vmap(d: Draw, s: Scope) -> bool | None:
    first = d.pick(s, lambda v: len(v.type.shape) > 0 and not (v.type.dtype == "u32" and len(v.type.shape) < 2))
    if first is None:
        return None
    operands = [first, *(v for v in some(d, s, d.rng.randint(0, 2), lambda v: True) if v is not first)]
    axes: list[int | None] = []
    size = -1
    for v in operands:
        rank = len(v.type.shape) - (v.type.dtype == "u32")
        fits = [a for a in range(rank) if size in (-1, v.type.shape[a])]
        if v is first or (fits and d.chance(0.7)):
            at = d.rng.choice(fits)
            size = v.type.shape[at]
            axes.append(at - len(v.type.shape) if d.chance(0.25) else at)
        else:
            axes.append(None)
    number = next(d.maps)
    free_names = [n for n in "ijkl" if n not in [a.name for a in s.axes]]
    named = bool(free_names) and d.chance(0.65)
    name = free_names[0] if named else None
    tree, keyword = d.chance(0.2), None
    params = []
    for v, a in zip(operands, axes, strict=True):
        shape = (
            v.type.shape if a is None else tuple(n for i, n in enumerate(v.type.shape) if i != a % len(v.type.shape))
        )
        params.append(d.param(v, Type(shape, v.type.dtype), v.row if a is None else v.row | {number}))
    signature = None
    if tree:
        signature = f"d{params[0].name}"
        for k, p in zip("pqr", params, strict=False):
            p.name = f'{signature}["{k}"]'
    inner_axes = [Axis(name, size, number)] if name else []
    f = d.function(s, params, signature, axes=inner_axes, most=5)
    out_axes: list[int | None] = []
    for o in f.outs:
        rank = len(o.type.shape)
        a: int | None = d.rng.randint(-rank - 1, rank) if d.chance(0.5) else 0
        if o.type.dtype == "u32":
            a = 0
        if number not in o.row and d.chance(0.5):
            a = None
        out_axes.append(a)
    shapes = []
    for o, a in zip(f.outs, out_axes, strict=True):
        at = None if a is None else a % (len(o.type.shape) + 1)
        shapes.append(o.type.shape if at is None else (*o.type.shape[:at], size, *o.type.shape[at:]))
    if any(Type(shape, "f32").numel > 200 for shape in shapes):
        return None
    targets = [
        d.var(Type(shape, o.type.dtype), o.bits, o.size, o.row - {number})
        for o, shape in zip(f.outs, shapes, strict=True)
    ]
    used_collective = any("'" + str(name) + "'" in let.text for _, let in f.lets()) if name else False
    if name and not tree and None not in out_axes and d.chance(0.2):  # another spelling
        text = f"m.over(@0, {name!r}, {size}, {axes}, {out_axes})({listed(len(operands))})"
        return d.call(s, text, operands, [f], targets)
    options = []
    if name:
        options.append(f"axis_name={name!r}")
    if d.chance(0.1):
        options.append(f"axis_size={size}")
    if size > 1 and not used_collective and d.chance(0.15):
        options.append(f"chunk_size={d.rng.randint(1, size)}")
    ins: Any = axes
    given = listed(len(operands))
    if tree:
        ins = (dict(zip("pqr", axes, strict=False)),)
        given = "{" + ", ".join(f"{k!r}: ${i}" for i, (k, _) in enumerate(zip("pqr", operands, strict=False))) + "}"
    elif len(set(axes)) == 1 and d.chance(0.5):
        ins = axes[0]
    elif len(operands) > 1 and axes[-1] == 0 and d.chance(0.4):
        keyword = params[-1].name
        ins, given = tuple(axes[:-1]), f"{listed(len(operands) - 1)}, {keyword}=${len(operands) - 1}"
    outs_text: Any = tuple(out_axes)
    if len(set(out_axes)) == 1 and d.chance(0.5):
        outs_text = out_axes[0]
    pattern = None
    if d.chance(0.15) and len(f.outs) > 1:  # a dict of results
        keys = "abc"[: len(f.outs)]
        f.result = "{" + ", ".join(f"{k!r}: ${i}" for i, k in enumerate(keys)) + "}"
        if isinstance(outs_text, tuple):
            outs_text = dict(zip(keys, out_axes, strict=True))
        whole = targets[0].name
        for k, v in zip(keys, targets, strict=True):
            v.name = f'{whole}["{k}"]'
        pattern = whole
    text = f"m.vmap(@0, in_axes={ins!r}, out_axes={outs_text!r}{''.join(', ' + o for o in options)})({given})"
    return d.call(s, text, operands, [f], targets, pattern)


# ---- derivatives ----


def scalar_loss(d: Draw, dtype: str) -> Callable[[Scope], list[Var]]:
    def loss(inner: Scope) -> list[Var]:
        parts = [d.late(inner, lambda v: v.type.is_float) or d.constant(inner, Type((), dtype)) for _ in range(2)]
        parts = [d.fitted(inner, v, Type((), dtype)) for v in dict.fromkeys(parts)]
        if len(parts) == 1:
            return parts
        return [d.put(inner, "$0 + $1", parts, Type((), dtype), None, parts[0].size + parts[1].size)]

    return loss


def derivative_size(v: Var) -> float:
    return 20.0 if v.type.dtype != "f16" else 10.0


@call(3)
def grad(d: Draw, s: Scope) -> bool | None:
    moving = some(d, s, d.rng.choice([1, 1, 2]), lambda v: differentiable(v))
    if not moving:
        return None
    fixed = some(d, s, d.rng.choice([0, 1]), lambda v: v not in moving and v.type.dtype != "u32")
    operands = [*moving, *fixed]
    d.rng.shuffle(operands)
    params = [d.param(v) for v in operands]
    at = [operands.index(v) for v in moving]
    aux = d.chance(0.3)

    def outs(inner: Scope) -> list[Var]:
        loss = scalar_loss(d, moving[0].type.dtype)(inner)
        return [*loss, *([d.pick(inner, lambda v: True) or loss[0]] if aux else [])]

    f = d.function(s, params, wanted=outs, result="($0, $1)" if aux else "$0", in_reverse=True)
    row = d.free([f]) | frozenset[int]().union(*(v.row for v in operands))
    grads = [d.var(v.type, None, derivative_size(v), row) for v in moving]
    value = [d.var(f.outs[0].type, f.outs[0].bits, f.outs[0].size, row)]
    extra = [d.var(o.type, o.bits, o.size, row) for o in f.outs[1:]]
    both = d.chance(0.4)
    single = len(at) == 1 and d.chance(0.5)
    argnums = at[0] if single else tuple(at)
    options = (f"argnums={argnums}" if argnums != 0 or d.chance(0.3) else "") + (", has_aux=True" if aux else "")
    text = f"m.{'value_and_grad' if both else 'grad'}(@0{', ' + options if options else ''})({listed(len(operands))})"
    text = text.replace(", , ", ", ")
    n = len(value) + len(extra) if both else 0
    grads_text = f"${n}" if single or argnums == 0 else tupled(len(grads), n)
    if both:
        targets = [*value, *extra, *grads]
        pattern = f"({tupled(2) if aux else '$0'}, {grads_text})"
    else:
        targets = [*grads, *extra]
        pattern = f"({grads_text}, ${len(grads)})" if aux else grads_text
    return d.call(s, text, operands, [f], targets, pattern)


def float_results(d: Draw, most: int = 12) -> Callable[[Scope], list[Var]]:
    def outs(inner: Scope) -> list[Var]:
        found = [
            d.late(inner, lambda v: v.type.is_float and 0 < v.type.numel <= most)
            for _ in range(d.rng.choice([1, 1, 2]))
        ]
        return [v for v in found if v is not None] or [d.constant(inner, Type((), "f32"))]

    return outs


def linear(d: Draw, s: Scope) -> tuple[list[Var], Function] | None:
    """Return float operands, and a function of them with float results."""
    operands = some(d, s, d.rng.choice([1, 1, 2]), lambda v: differentiable(v))
    if not operands:
        return None
    return operands, d.function(s, [d.param(v) for v in operands], wanted=float_results(d))


@call(2)
def jvp(d: Draw, s: Scope) -> bool | None:
    if (made := linear(d, s)) is None:
        return None
    operands, f = made
    tangents = [d.pick(s, lambda t: t.type == v.type) if d.chance(0.5) else d.constant(s, v.type) for v in operands]
    ts = [t if t is not None else v for t, v in zip(tangents, operands, strict=True)]
    row = d.free([f]) | frozenset[int]().union(*(v.row for v in [*operands, *ts]))
    ys = like(d, f.outs, row)
    dys = [d.var(o.type, None, 20, row) for o in f.outs]
    n, k = len(operands), len(f.outs)
    text = f"m.jvp(@0, {tupled(n)}, {tupled(n, n)})"
    return d.call(s, text, [*operands, *ts], [f], [*ys, *dys], f"({tupled(k)}, {tupled(k, k)})")


@call(2)
def vjp(d: Draw, s: Scope) -> bool | None:
    before = s.in_reverse
    s.in_reverse = True
    made = linear(d, s)
    s.in_reverse = before
    if made is None:
        return None
    operands, f = made
    row = d.free([f]) | frozenset[int]().union(*(v.row for v in operands))
    ys, grads = like(d, f.outs, row), [d.var(v.type, None, derivative_size(v), row) for v in operands]
    k = len(f.outs)
    text = f"m.pulled(@0, {d.chance(0.5)}, {listed(len(operands))})"
    return d.call(s, text, operands, [f], [*ys, *grads], f"({tupled(k)}, {tupled(len(grads), k)})")


@call(2)
def jacobian(d: Draw, s: Scope) -> bool | None:
    kind = d.rng.choice(["jacfwd", "jacrev", "hessian"])
    operands = some(d, s, d.rng.choice([1, 1, 2]), lambda v: v.type.is_float and 0 < v.type.numel <= 4)
    if not operands:
        return None
    most = 3 if kind == "hessian" else 4

    def outs(inner: Scope) -> list[Var]:
        v = d.late(inner, lambda v: v.type.is_float and 0 < v.type.numel <= most)
        return [v if v is not None else d.constant(inner, Type((), "f32"))]

    f = d.function(s, [d.param(v) for v in operands], wanted=outs, result="$0", in_reverse=kind != "jacfwd", most=3)
    at = d.rng.randrange(len(operands))
    row = d.free([f]) | frozenset[int]().union(*(v.row for v in operands))
    (o,), v = f.outs, operands[at]
    shape = o.type.shape + v.type.shape * (2 if kind == "hessian" else 1)
    target = d.var(Type(shape, o.type.dtype), None, 20, row)
    return d.call(s, f"m.{kind}(@0, {at})({listed(len(operands))})", operands, [f], [target], "$0")


# ---- control flow ----


def predicate(d: Draw, s: Scope) -> Var:
    p = d.pick(s, lambda v: v.type == Type((), "bool"))
    if p is not None and d.chance(0.6):
        return p
    v = d.pick(s, lambda v: v.bits is not None and v.type.dtype not in ("u32", "bool"))
    if v is None:
        return p or d.put(s, "m.full((), 'bool', True)", [], Type((), "bool"))
    if v.type.shape:
        v = d.put(s, "m.sum($0)", [v], Type((), v.type.dtype), v.bits, v.size * max(v.type.numel, 1))
        if v.bits is None:
            return d.put(s, "m.full((), 'bool', True)", [], Type((), "bool"))
    return d.put(s, f"$0 > {d.rng.choice([0, 1, 2] if v.type.dtype == 'u8' else [0, 1, -1])}", [v], Type((), "bool"))


def branches(d: Draw, s: Scope, n: int) -> tuple[list[Var], list[Function]]:
    operands = some(d, s, d.rng.choice([0, 1, 2]), lambda v: True)
    first = d.function(s, [d.param(v) for v in operands])
    types = [o.type for o in first.outs]
    if any(t.dtype == "u32" for t in types) or not types:
        first.outs = [o for o in first.outs if o.type.dtype != "u32"] or [s.vars[0]]
        first.result = tupled(len(first.outs))
        types = [o.type for o in first.outs]
    return operands, [first, *(d.function(s, [d.param(v) for v in operands], wanted=types) for _ in range(n - 1))]


def merged(d: Draw, fs: Sequence[Function], row: frozenset[int]) -> list[Var]:
    out = []
    for os in zip(*(f.outs for f in fs), strict=True):
        known = [o.bits for o in os if o.bits is not None]
        out.append(d.var(os[0].type, max(known) if len(known) == len(os) else None, max(o.size for o in os), row))
    return out


@call(3)
def cond(d: Draw, s: Scope) -> bool | None:
    p = predicate(d, s)
    operands, fs = branches(d, s, 2)
    row = d.free(fs) | p.row | frozenset[int]().union(*(v.row for v in operands))
    args = f", {listed(len(operands), 1)}" if operands else ""
    return d.call(s, f"m.cond($0, @0, @1{args})", [p, *operands], fs, merged(d, fs, row))


@call(1.5)
def switch(d: Draw, s: Scope) -> bool | None:
    i = d.pick(s, lambda v: v.type == Type((), "i32"))
    if i is None:
        return None
    n = d.rng.randint(1, 3)
    operands, fs = branches(d, s, n)
    row = d.free(fs) | i.row | frozenset[int]().union(*(v.row for v in operands))
    args = f", {listed(len(operands), 1)}" if operands else ""
    names = ", ".join(f"@{k}" for k in range(n))
    return d.call(s, f"m.switch($0, [{names}]{args})", [i, *operands], fs, merged(d, fs, row))


def carried(d: Draw, s: Scope, n: int) -> list[Var]:
    found = some(d, s, n, lambda v: v.type.dtype != "u8" and v.type.numel <= 16)
    return [d.bounded(s, v) for v in found]


def state_params(d: Draw, inits: Sequence[Var], row: frozenset[int]) -> list[Var]:
    out = []
    for v in inits:
        p = d.var(v.type, None, max(v.size, 3.0), row)
        if v.type.dtype == "i32":
            p.size = 5.0
        out.append(p)
    return out


def all_rows(s: Scope, vs: Sequence[Var]) -> frozenset[int]:
    """Return the maps that a carry may depend on: the maps of all values that its step may use."""
    return frozenset[int]().union(*(v.row for v in vs), *(v.row for v in s.vars))


@call(3)
def scan(d: Draw, s: Scope) -> bool | None:
    inits = carried(d, s, d.rng.choice([1, 1, 2]))
    if not inits:
        return None
    first = d.pick(
        s,
        lambda v: (
            len(v.type.shape) > 0 and v.type.shape[0] <= 4 and not (v.type.dtype == "u32" and len(v.type.shape) < 2)
        ),
    )
    xs: list[Var] = []
    if first is not None and d.chance(0.8):
        n = first.type.shape[0]
        others = some(
            d,
            s,
            1,
            lambda v: len(v.type.shape) > 0 and v.type.shape[0] == n and v is not first and v.type.dtype != "u32",
        )
        xs = [first, *(others if d.chance(0.3) else [])]
    else:
        n = d.rng.randint(0, 3)
    row = all_rows(s, inits)
    cs, ps = state_params(d, inits, row), [d.param(v, Type(v.type.shape[1:], v.type.dtype)) for v in xs]
    k = d.rng.choice([0, 1, 1, 2])
    c, x = f"c{cs[0].name}", f"x{cs[0].name}"
    for i, p in enumerate(cs):
        p.name = f"{c}[{i}]"
    for i, p in enumerate(ps):
        p.name = f"{x}[{i}]"

    def outs(inner: Scope) -> list[Var]:
        new = [goes_on(d, inner, p) for p in cs]
        return [*new, *(d.late(inner, lambda v: v.type.dtype != "u32") or new[0] for _ in range(k))]

    m = len(inits)
    f = d.function(s, [*cs, *ps], f"{c}, {x}", wanted=outs, result=f"({tupled(m)}, {tupled(k, m) if k else 'None'})")
    total = d.free([f]) | row
    finals = [d.var(v.type, None, max(v.size, 3), total) for v in inits]
    ys = [d.var(Type((n, *o.type.shape), o.type.dtype), o.bits, o.size, total) for o in f.outs[m:]]
    given = f"{tupled(len(xs), m)}" if xs else "None"
    options = (f", length={n}" if not xs or d.chance(0.1) else "") + (", reverse=True" if d.chance(0.25) else "")
    pattern = f"({tupled(m)}, {tupled(k, m) if k else '_'})"
    return d.call(s, f"m.scan(@0, {tupled(m)}, {given}{options})", [*inits, *xs], [f], [*finals, *ys], pattern)


def goes_on(d: Draw, inner: Scope, p: Var) -> Var:
    """Return the next value of a carry: with its type, and bounded."""
    v = d.late(inner, lambda v: v.type == p.type)
    if v is None or d.chance(0.25):
        v = d.fitted(inner, d.pick(inner, lambda v: v.type.dtype != "u32") or p, p.type) if p.type.dtype != "u32" else p
    return d.bounded(inner, v, 3.0)


@call(1.5)
def fori_loop(d: Draw, s: Scope) -> bool | None:
    inits = carried(d, s, d.rng.choice([1, 1, 2]))
    if not inits:
        return None
    bound = d.pick(s, lambda v: v.type == Type((), "i32")) if not s.in_reverse and d.chance(0.4) else None
    row = all_rows(s, inits)
    i = d.var(Type((), "i32"), 0, 4, bound.row if bound else frozenset())
    cs = state_params(d, inits, row)
    c = f"c{cs[0].name}"
    for at, p in enumerate(cs):
        p.name = f"{c}[{at}]"
    m = len(inits)
    f = d.function(
        s, [i, *cs], f"{i.name}, {c}", wanted=lambda inner: [goes_on(d, inner, p) for p in cs], result=tupled(m), most=3
    )
    total = d.free([f]) | row | (bound.row if bound else frozenset())
    finals = [d.var(v.type, None, max(v.size, 3), total) for v in inits]
    lower = d.rng.choice([0, 0, 1, -1])
    upper = f"${m} % 4" if bound else str(d.rng.randint(-1, 3))
    operands = [*inits, *([bound] if bound else [])]
    return d.call(s, f"m.fori_loop({lower}, {upper}, @0, {tupled(m)})", operands, [f], finals)


@call(1.5)
def while_loop(d: Draw, s: Scope) -> bool | None:
    if s.in_reverse and d.chance(0.9):
        return None
    inits = carried(d, s, 1)
    if not inits:
        return None
    bound = d.pick(s, lambda v: v.type == Type((), "i32"))
    row = all_rows(s, inits)
    i = d.var(Type((), "i32"), 0, 4, row)
    cs = state_params(d, inits, row)
    c = f"c{cs[0].name}"
    i.name = f"{c}[0]"
    for at, p in enumerate(cs):
        p.name = f"{c}[{at + 1}]"
    m = len(inits)
    test_params = [i, *cs]

    def go(inner: Scope) -> list[Var]:
        limit = f"$1 % {d.rng.randint(1, 4)}" if bound is not None and d.chance(0.7) else str(d.rng.randint(0, 3))
        return [d.put(inner, f"$0 < {limit}", [i, *([bound] if "$1" in limit and bound else [])], Type((), "bool"))]

    test = d.function(s, test_params, c, wanted=go, result="$0", most=1)

    def step(inner: Scope) -> list[Var]:
        return [d.put(inner, "$0 + 1", [i], i.type, 0, 5), *(goes_on(d, inner, p) for p in cs)]

    f = d.function(s, test_params, c, wanted=step, result=tupled(m + 1), most=3)
    total = d.free([f, test]) | row
    finals = [d.var(Type((), "i32"), 0, 5, total), *(d.var(v.type, None, max(v.size, 3), total) for v in inits)]
    start = d.put(s, "m.full((), 'i32', 0)", [], Type((), "i32"), 0, 1)
    return d.call(s, f"m.while_loop(@0, @1, {tupled(m + 1)})", [start, *inits], [test, f], finals)


@call(1)
def map_over(d: Draw, s: Scope) -> bool | None:
    x = d.pick(
        s,
        lambda v: (
            len(v.type.shape) > 0 and 0 < v.type.shape[0] <= 4 and not (v.type.dtype == "u32" and len(v.type.shape) < 2)
        ),
    )
    if x is None:
        return None
    n = x.type.shape[0]
    xs = [
        x,
        *some(
            d,
            s,
            d.rng.choice([0, 1]),
            lambda v: len(v.type.shape) > 0 and v.type.shape[0] == n and v is not x and v.type.dtype != "u32",
        ),
    ]
    ps = [d.param(v, Type(v.type.shape[1:], v.type.dtype)) for v in xs]
    name = f"x{ps[0].name}"
    for i, p in enumerate(ps):
        p.name = f"{name}[{i}]"
    f = d.function(s, ps, name)
    row = d.free([f]) | frozenset[int]().union(*(v.row for v in xs))
    if any(o.type.numel * n > 100 for o in f.outs):
        return None
    targets = like(d, f.outs, row, [(n, *o.type.shape) for o in f.outs])
    return d.call(s, f"m.map(@0, {tupled(len(xs))})", xs, [f], targets)


# ---- custom rules ----


def closed_function(d: Draw, s: Scope, mixed: bool) -> tuple[list[Var], Function] | None:
    """Return a function of floats, mostly without closures; with `mixed`, some results depend on one argument only."""
    operands = some(d, s, d.rng.choice([1, 2, 2]), lambda v: differentiable(v))
    if not operands:
        return None

    def outs(inner: Scope) -> list[Var]:
        found = [
            d.late(inner, lambda v: v.type.is_float and v.type.numel <= 12) for _ in range(d.rng.choice([1, 2, 2, 3]))
        ]
        made = [v for v in found if v is not None]
        if mixed and d.chance(0.4):  # a result that is one of the arguments
            made.append(d.rng.choice(params))
        return made or [params[0]]

    params = [d.param(v) for v in operands]
    # a rule also runs after the surrounding maps are applied, so it must not close over batched values
    closed = any(v.row for v in s.vars) or s.in_reverse or d.chance(0.7)
    return operands, d.function(s, params, wanted=outs, closed=closed, in_custom=True, most=4)


def ruled(d: Draw, s: Scope, text: str, operands: list[Var], functions: list[Function]) -> bool:
    f = functions[0]
    targets = [d.var(o.type, o.bits, o.size, o.row) for o in f.outs]
    for v, o in zip(targets, f.outs, strict=True):
        v.bits, v.row = None, o.row
    return d.call(s, f"{text}({listed(len(operands))})", operands, functions, targets)


@call(2)
def custom_jvp(d: Draw, s: Scope) -> bool | None:
    if (made := closed_function(d, s, True)) is None:
        return None
    operands, f = made
    if d.chance(0.6):
        zeros = tuple(d.chance(0.85) for _ in f.outs)
        return ruled(d, s, f"m.with_jvp(@0, {d.rng.choice([1, 2, 0.5])}, {zeros})", operands, [f])
    # an explicit rule: linear in the tangents, but not the true derivative
    ps = [d.param(v) for v in operands]
    ts = [d.var(v.type, None, 20, v.row) for v in operands]

    def tangents(inner: Scope) -> list[Var]:
        out = []
        for o in f.outs:
            at = d.rng.randrange(len(ts))
            t, p = ts[at], ps[at]
            v = d.put(inner, "m.cos($0) * $1", [p, t], t.type, None, 20)
            if inner.axes and d.chance(0.2):
                v = d.put(inner, f"m.psum($0, {inner.axes[-1].name!r})", [v], v.type, None, 20)
            out.append(d.fitted(inner, v, o.type))
        return out

    rule = d.function(s, [*ps, *ts], wanted=tangents, closed=True, in_custom=True, most=1)
    rule.body[:] = [let for let in rule.body if let.operands or not let.functions]
    return ruled(d, s, "m.with_jvp_by_hand(@0, @1)", operands, [f, rule])


@call(1.5)
def custom_vjp(d: Draw, s: Scope) -> bool | None:
    before = s.in_reverse
    s.in_reverse = True
    made = closed_function(d, s, True)
    s.in_reverse = before
    if made is None:
        return None
    operands, f = made
    none = tuple(i for i in range(len(operands)) if d.chance(0.1))
    return ruled(d, s, f"m.with_vjp(@0, {d.rng.choice([1, 2, 0.5])}, {none})", operands, [f])


@call(1)
def custom_vmap(d: Draw, s: Scope) -> bool | None:
    if (made := closed_function(d, s, False)) is None:
        return None
    operands, f = made
    return ruled(d, s, f"m.with_vmap(@0, {d.rng.choice([1, 2])})", operands, [f])


@call(0.7)
def sequential_vmap(d: Draw, s: Scope) -> bool | None:
    if (made := closed_function(d, s, False)) is None:
        return None
    operands, f = made
    return ruled(d, s, "m.sequential_vmap(@0)", operands, [f])


# ---- others ----


@call(1)
def jit(d: Draw, s: Scope) -> bool | None:
    operands = some(d, s, 2, lambda v: True)
    f = d.function(s, [d.param(v) for v in operands])
    row = d.free([f]) | frozenset[int]().union(*(v.row for v in operands))
    if s.depth == 0 and d.chance(0.5):
        return None
    return d.call(s, f"m.jit(@0)({listed(len(operands))})", operands, [f], like(d, f.outs, row))


@call(0.7)
def make_expr(d: Draw, s: Scope) -> bool | None:
    if s.depth:
        return None
    operands = some(d, s, 2, lambda v: True)
    f = d.function(s, [d.param(v) for v in operands], most=5)
    level = d.rng.choice(["operations", "primitives", "batched"])
    return d.call(
        s, f"m.through_expr(@0, {level!r})({listed(len(operands))})", operands, [f], like(d, f.outs, frozenset())
    )
