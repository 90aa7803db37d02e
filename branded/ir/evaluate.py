"""Evaluating a typed program: run its equations in order, each by the operation that it names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp

from branded.collectives.named_axes import COLLECTIVES
from branded.control_flow.cond import cond, switch
from branded.control_flow.loops import fori_loop, scan, while_loop
from branded.control_flow.loops import map as map_
from branded.control_flow.scan import scan as scan_steps
from branded.control_flow.while_loop import while_loop as while_steps
from branded.core.boundary import enter, leave, stage
from branded.core.brand import Brand
from branded.core.sharding.resharding import copied_to_all
from branded.core.tracing.body import loses
from branded.core.tracing.recorded_calls import BINARY, WRITES, arguments
from branded.core.tracing.step import Carry, Input, like, split_arguments
from branded.errors import BrandedError, ProgramError
from branded.graph.primitive import results as results_of
from branded.graph.rows import SHORT, row_of
from branded.graph.scope import Row, Scope, all_opened
from branded.graph.tags import leaf
from branded.graph.uops import lead, on_device, replace_ops, tensor
from branded.ir.draft import type_of
from branded.ir.operators import function_of
from branded.ir.primitives import PRIMITIVES
from branded.ir.terms import WEAK, Atom, BrandName, Dtype, Eqn, Literal, Program, Var
from branded.tinygrad_compat.private_api import broadcast_to, canonicalize_device

Agreed = Callable[[Sequence[Tensor]], list[Tensor]]
"""A function that casts the results of a branch to the common dtypes of all branches."""
_MISTAKES = (LookupError, StopIteration, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError)
"""The exceptions of operations for invalid parameters and operands; an error about the equation replaces them."""
_LONG = {short: name for name, short in SHORT.items()}
_DTYPES: dict[str, DType] = {d.name: d for d in (*dtypes.all, *dtypes.weaks)}


def dtype_of(text: str) -> DType:
    """Return the dtype with this short name."""
    dtype = _DTYPES.get(_LONG.get(text, text)) or getattr(dtypes, text, None)
    if not isinstance(dtype, DType):
        raise ProgramError(f"program: {text!r} is not a dtype", fix="use f32, i32, bool, …")
    return dtype


def on_one_device(program: Program, outs: Sequence[Tensor]) -> list[Tensor]:
    """Return the results of a batched program on common devices: it may combine values of several devices."""
    to = [e.params["device"] for e in program.eqns if e.op == "COPY"]
    return list(map(tensor, copied_to_all([x.uop for x in outs], (to[-1],) if to and isinstance(to[-1], str) else ())))


def evaluation(program: Program, outer: Mapping[BrandName, Scope] | None = None) -> Evaluation:
    """Return an `Evaluation` of a program, with its outer brands and its own brands in the order of its types."""
    brands = dict(outer or {})
    own_brands = {name: Brand(name.size, name.name) for name in program.brands() if name not in brands}
    return Evaluation(brands | own_brands, tuple(own_brands.values()))


class Evaluation:
    """One run of a program over these brands; its own brands are open while it runs."""

    def __init__(self, brands: Mapping[BrandName, Scope], own_brands: Row = (), keeps_brands: bool = False) -> None:
        self.brands, self.own = brands, own_brands
        self.keeps_brands = keeps_brands
        """Whether values keep their brands until the end, as in the body of a call with a custom rule."""

    def reopen_brands(self) -> AbstractContextManager[Row]:
        return all_opened(self.own)

    def run(self, program: Program, consts: Sequence[Tensor], args: Sequence[Tensor]) -> list[Tensor]:
        """Return the results of a program inside this one."""
        inner = evaluation(program, self.brands)
        inner.keeps_brands = self.keeps_brands
        with inner.reopen_brands():
            env: dict[Var, Tensor] = dict(zip((*program.constvars, *program.invars), (*consts, *args), strict=True))
            for _ in inner.steps(program, env):
                pass
            return [_tensor(inner._value(a, env)) for a in program.outs]

    def steps(self, program: Program, env: dict[Var, Tensor]) -> Iterator[Eqn]:
        """Run the equations one by one; `env` holds the values so far."""
        for eqn in program.eqns:
            try:
                out = self._eqn(eqn, [self._value(a, env) for a in eqn.operands])
                env.update(zip(eqn.results, out, strict=True))
                types = [(v.type, type_of(y.uop)) for v, y in zip(eqn.results, out, strict=True)]
            except _MISTAKES as error:
                if isinstance(error, BrandedError):
                    raise
                raise ProgramError(f"program: {eqn.op} does not take these parameters or operands: {error}") from error
            for says, is_ in types:
                if says[:2] != is_[:2]:  # dtype and shape must agree; the brands may differ
                    raise ProgramError(
                        f"program: {eqn.op} returns another type than the text declares",
                        ("written", str(says)),
                        ("given", str(is_)),
                        fix="write the type that it returns",
                    )
            yield eqn

    def function(self, program: Program, consts: Sequence[Any]) -> Callable[..., list[Tensor]]:
        return lambda *args: self.run(program, list(map(_tensor, consts)), list(map(_tensor, args)))

    def _value(self, a: Atom, env: dict[Var, Tensor]) -> Any:
        return env[a] if isinstance(a, Var) else a.value if a.dtype in WEAK else tensor(_const(a))

    def _eqn(self, e: Eqn, operands: list[Any]) -> list[Tensor]:
        p = self._params(e)
        if e.op == "enter":
            x = _tensor(operands[0])
            if x.shape[p["axis"]] != p["brand"].size:
                raise ValueError(f"axis {p['axis']} has {x.shape[p['axis']]} entries, and the brand is {p['brand']}")
            if (devices := p.get("devices")) and not p["brand"].devices:
                p["brand"].devices, p["brand"].home = devices, canonicalize_device(None)
            return [tensor(enter(x.uop, p["brand"], p["axis"]))]
        if e.op == "leave":
            b: Brand = p["brand"]
            if self.keeps_brands and b in row_of(u := _tensor(operands[0]).uop):
                return [tensor(lead(stage(u, b), (*range(1, p["axis"] + 1), 0)))]
            return [tensor(leave([_tensor(operands[0]).uop], b, [p["axis"]], b.size)[0])]
        if e.op == "HOST":
            return _host(p["function"].info, [on_device(_tensor(x).uop) for x in operands])
        if e.has_programs:
            n = p.pop("consts", 0)
            run: Callable[..., Any] | None = getattr(
                self, f"_{e.op.lower()}_{'steps' if e.op.isupper() else 'call'}", None
            )
            if run is None:
                raise _unknown(e.op)
            agreed = functools.partial(_cast_results, e)
            return agreed(run(p, operands[:n], operands[n:], *[agreed] * (e.op in {"cond", "switch"})))
        if e.op.isupper():
            atoms = zip(e.operands, operands, strict=True)
            return [tensor(_primitive(e, [_const(a) if isinstance(a, Literal) else x.uop for a, x in atoms]))]
        out = self._operation(e.op, p, operands)
        return [out] if isinstance(out, Tensor) else list(out)

    def _operation(self, op: str, p: dict[str, Any], operands: list[Any]) -> Any:
        if op in BINARY and not p and len(operands) == 2:
            x, y = operands
            return BINARY[op](x if isinstance(y, Tensor) else _tensor(x), y)
        if op in COLLECTIVES:
            p = {k: _brand_names(v) for k, v in p.items()}
            return COLLECTIVES[op](*map(_tensor, operands), **p)
        if (f := function_of(op)) is None:
            raise _unknown(op)
        if op in WRITES:
            operands = [_tensor(operands[0]).clone(), *operands[1:]]
        elif operands and not isinstance(operands[0], Tensor):
            operands = [_tensor(operands[0]), *operands[1:]]
        args, kwargs = arguments(f, p, operands)
        out = f(*args, **kwargs)
        return operands[0] if op in WRITES else out

    def _params(self, e: Eqn) -> dict[str, Any]:
        """Return the parameters in the form that functions accept."""

        def value(v: Any) -> Any:
            if isinstance(v, BrandName):
                return self.brands[v]
            if isinstance(v, Dtype) and e.op != "REDUCE":
                return dtype_of(v.name)
            return type(v)(map(value, v)) if type(v) in (tuple, list) else v

        return {k: value(v) for k, v in e.params.items()}

    def _cond_call(self, p: dict[str, Any], consts: list[Any], operands: list[Any], agreed: Agreed) -> list[Tensor]:
        f, g = (self._branch(p[k], consts, agreed) for k in ("true_fun", "false_fun"))
        out: list[Tensor] = cond(operands[0], f, g, *map(_tensor, operands[1:]))
        return out

    def _switch_call(self, p: dict[str, Any], consts: list[Any], operands: list[Any], agreed: Agreed) -> list[Tensor]:
        branches = [self._branch(b, consts, agreed) for b in p["branches"]]
        out: list[Tensor] = switch(operands[0], branches, *map(_tensor, operands[1:]))
        return out

    def _branch(self, program: Program, consts: Sequence[Any], agreed: Agreed) -> Callable[..., list[Tensor]]:
        f = self.function(program, consts)
        return lambda *args: agreed(f(*args))

    def _scan_call(self, p: dict[str, Any], consts: list[Any], operands: list[Any]) -> list[Tensor]:
        n, f = p["carries"], self.function(p["f"], consts)

        def step(carry: list[Tensor], x: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
            out = f(*carry, *x)
            return out[:n], out[n:]

        carry, ys = scan(step, operands[:n], list(map(_tensor, operands[n:])), p["length"], p.get("reverse", False))
        return [*carry, *ys]

    def _map_call(self, p: dict[str, Any], consts: list[Any], operands: list[Any]) -> list[Tensor]:
        f = self.function(p["f"], consts)
        return map_(lambda xs: f(*xs), list(map(_tensor, operands)))

    def _fori_loop_call(self, p: dict[str, Any], consts: list[Any], operands: list[Any]) -> list[Tensor]:
        f = self.function(p["body_fun"], consts)
        out: list[Tensor] = fori_loop(operands[0], operands[1], lambda i, c: f(i, *c), operands[2:])
        return out

    def _while_loop_call(self, p: dict[str, Any], consts: list[Any], operands: list[Any]) -> list[Tensor]:
        go, f = (self.function(p[k], consts) for k in ("cond_fun", "body_fun"))
        return while_loop(lambda c: go(*c)[0], lambda c: f(*c), operands)

    def _jit_call(self, p: dict[str, Any], consts: list[Any], operands: list[Any]) -> list[Tensor]:
        return self.function(p["f"], consts)(*operands)

    def _scan_steps(self, p: dict[str, Any], consts: list[Any], operands: list[Any]) -> list[Tensor]:
        whole = [on_device(_tensor(x).uop) for x in operands]
        n, args = p["carries"], split_arguments(whole, p["carries"], p["inputs"], p.get("gated", False))
        cs, xs = [like(x) for x in args.carries], [like(x, 1) for x in args.inputs]
        outs = [y.uop for y in self.function(p["body"], consts)(*map(tensor, [*cs, *xs, *args.fixed, *args.gate]))]
        carries = [Carry(*c) for c in zip(cs, args.carries, outs[:n], strict=True)]
        inputs = [Input(*x) for x in zip(xs, args.inputs, strict=True)]
        finals, ys = scan_steps(carries, inputs, outs[n:], p["length"], p["reverse"], None, *args.gate)
        return [tensor(u) for u in (*finals, *ys)]

    def _while_loop_steps(self, p: dict[str, Any], consts: list[Any], operands: list[Any]) -> list[Tensor]:
        args = split_arguments([on_device(_tensor(x).uop) for x in operands], p["carries"], 0, p.get("gated", False))
        places = [like(x) for x in args.carries]
        *outs, go = [y.uop for y in self.function(p["body"], consts)(*map(tensor, [*places, *args.fixed, *args.gate]))]
        carries = [Carry(*c) for c in zip(places, args.carries, outs, strict=True)]
        return [tensor(u) for u in while_steps(carries, go, None, *args.gate)]

    def _store_steps(self, p: dict[str, Any], consts: list[Any], operands: list[Any]) -> list[Tensor]:
        """Write to a part of a copy, and return the copy."""
        copy = _tensor(operands[0]).clone().uop
        (view,) = self.run(p["into"], consts, [tensor(copy)])
        part = view.uop
        value = _tensor(operands[1]).uop.cast(part.dtype)
        value = value if value.shape == part.shape else broadcast_to(value, part.shape)
        return [tensor(copy.after(part.after(part.store(value))))]

    def _function_steps(self, p: dict[str, Any], consts: list[Any], operands: list[Any]) -> list[Tensor]:
        info = p["rule"].info if "rule" in p else None
        if info is None or consts:  # read from text: evaluates the body, without custom derivatives
            return self.function(p["body"], consts)(*operands)
        args = [_tensor(x).uop for x in operands]
        leaves = list(map(leaf, args))  # a leaf keeps the brands of its argument in the body, which may leave them
        rule = Evaluation(self.brands, keeps_brands=True)
        outs = [y.uop for y in rule.function(p["body"], ())(*map(tensor, leaves))]
        body = UOp.maketuple(*replace_ops(outs, {x: x.param_like(i) for i, x in enumerate(leaves)}.get))
        return [tensor(u) for u in results_of(UOp(Ops.FUNCTION, dtypes.void, (body, *args), info))]


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else Tensor(x)


def _cast_results(e: Eqn, outs: Sequence[Tensor]) -> list[Tensor]:
    """Return the results of a branch or a loop with the dtypes of the equation: here a result may be a weak number."""
    numbers = {*dtypes.weaks, dtypes.bool}
    wanted = [(y, dtype_of(v.type.dtype)) for y, v in zip(outs, e.results, strict=True)]
    return [y.cast(d) if not numbers.isdisjoint((y.dtype, d)) and not loses(y.dtype, d) else y for y, d in wanted]


def _brand_names(v: Any) -> Any:
    return v.name if isinstance(v, Brand) else tuple(map(_brand_names, v)) if isinstance(v, tuple) else v


def _unknown(op: str) -> ProgramError:
    return ProgramError(f"program: there is no operation {op!r}", fix="use an operation that make_expr printed")


def _const(a: Literal) -> UOp:
    out: UOp = UOp.const(a.value, dtype_of(a.dtype))
    return out


def _host(call: UOp | None, args: list[UOp]) -> list[Tensor]:
    """Call the host callback of a recorded call on other arguments."""
    if call is None:
        raise ProgramError(
            "program: the text of HOST does not contain its function", fix="run the Expr itself, not its text"
        )
    return [tensor(u) for u in results_of(call.replace(src=(call.src[0], *args)))]


def _primitive(e: Eqn, src: list[UOp]) -> UOp:
    """Return the tinygrad operation that an equation names."""
    p, dtype = e.params, dtype_of(e.results[0].type.dtype)
    if "arg" in p:  # not expressible as text
        if (info := p["arg"].info) is None:
            raise ProgramError(f"program: the text of {e.op} is incomplete", fix="run the Expr itself, not its text")
        return UOp(info.op, info.dtype, (*src, *info.src[len(src) :]), info.arg)
    if e.op == "STORE":
        shape, value = e.results[0].type.shape, src[0].cast(dtype)
        out: UOp = (value if value.shape == shape else broadcast_to(value, shape)).clone()
        return out
    if (row := PRIMITIVES.get(e.op)) is None:
        raise _unknown(e.op)
    return row.build(dtype, src, **p)
