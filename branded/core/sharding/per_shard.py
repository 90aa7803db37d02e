"""Per-device execution of single-device operations, such as loops: each device processes its own examples."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from tinygrad.uop.ops import Ops, UOp

from branded.core.sharding.layout import home_of
from branded.core.sharding.resharding import copy_to_devices, entries
from branded.graph.primitive import Batched, BatchingRun, Bundle, primitive_of, results
from branded.graph.rows import has_brand
from branded.graph.scope import Row, Scope
from branded.graph.uops import on_device, replace_ops


class _Part(Scope):
    """The examples of a brand that one device holds."""

    is_brand = True

    def __init__(self, b: Scope, i: int, n: int) -> None:
        super().__init__(n, f"{b.name}[{i * n}:{(i + 1) * n}]")
        self.number = b.number  # keeps its position among the brands of a value


def on_each(u: UOp, run: BatchingRun, args: Sequence[Batched], brands: Collection[Scope]) -> Bundle:
    """Run the call on each device for that device's examples.

    `brands` are the brands whose examples are distributed over devices.
    """
    p, brand = primitive_of(u), _sharded_brand(args, brands)
    assert p is not None
    home = home_of(next(iter(brands)))
    if brand is None or has_brand(u.src[0]):  # its body exchanges values between examples
        return p.batch(u, run, [x._replace(uop=_at(x.uop, home)) for x in args])
    n, done = brand.size // len(brand.devices), list[Bundle]()
    for i, device in enumerate(brand.devices):
        part = _Part(brand, i, n)
        here = [Batched(_local(x, brand, i), tuple(part if b is brand else b for b in x.row)) for x in args]
        call = _on(device, home, u)
        local_primitive = primitive_of(call)
        assert local_primitive is not None
        out = local_primitive.batch(call, run, here)
        done.append(out._replace(rows=tuple(tuple(brand if b is part else b for b in row) for row in out.rows)))
    rows = done[0].rows
    of_all = zip(*(results(x.uop) for x in done), rows, strict=True)
    return Bundle(UOp.maketuple(*(_stack_shards(ys, row, brand) for *ys, row in of_all)), rows)


def _sharded_brand(args: Sequence[Batched], brands: Collection[Scope]) -> Scope | None:
    """Return the one brand that is sharded in all arguments, or None."""
    if len(brands) == 1:
        return next(iter(brands))
    several = [x for x in args if isinstance(x.uop.device, tuple) and x.uop.axis is not None]
    laid = {x.row[a] if (a := x.uop.axis or 0) < len(x.row) else None for x in several}
    return laid.pop() if len(laid) == 1 else None


def _at(x: UOp, device: str) -> UOp:
    return x if x.device in {None, device} else x.copy_to_device(device)


def _local(x: Batched, brand: Scope, i: int) -> UOp:
    """Return the part of a value that device `i` holds, or a copy of the value."""
    devices = brand.devices
    if isinstance(x.uop.device, tuple) and x.uop.axis is not None and brand not in x.row:
        whole: UOp = x.uop.copy_to_device(devices[i])
        return whole
    u = x.uop.contiguous() if isinstance(x.uop.device, tuple) else x.uop  # tinygrad reads shards from memory
    if brand in x.row:
        u = entries(u, x.row.index(brand), i, len(devices))
    if isinstance(u.device, tuple):
        return u.mselect(i)
    return u if u.device in {None, devices[i]} else copy_to_devices(u, devices[i])


def _on(device: str, home: str, u: UOp) -> UOp:
    """Return the call on `device`; it was traced as if all examples were on the device `home`."""
    like = [UOp.param(i, x.dtype, x.shape, device) for i, x in enumerate(u.src[1:])]
    return u if device == home else call_on(device, home, u.replace(src=(u.src[0], *like)))


def call_on(device: str, home: str, call: UOp) -> UOp:
    """Return the call on `device`, with its body moved there from the device `home`."""

    def moved(graph: UOp) -> UOp:
        return replace_ops([graph], there)[0]

    def there(v: UOp) -> UOp | None:
        if v.op is Ops.PARAM and v.arg.device == home:
            return v.replace(arg=dataclasses.replace(v.arg, device=device, axis=None))  # one device holds all of it
        if v.op is Ops.COPY and v.arg == home:
            return v.replace(arg=device)
        if v.op is Ops.BUFFER and v.device == home and not v.is_realized:  # memory that the body writes into
            buffer: UOp = UOp.new_buffer(device, v.max_numel(), v.dtype)
            return buffer
        return call_on(device, home, v) if v.op is Ops.FUNCTION else None

    p = primitive_of(call)
    arg = call.arg if p is None or (q := p.on_other_device(moved)) is p else dataclasses.replace(call.arg, aux=q)
    return call.replace(src=(moved(call.src[0]), *call.src[1:]), arg=arg)


def _stack_shards(ys: Sequence[UOp], row: Row, brand: Scope) -> UOp:
    """Join the results of all devices into one value; take the first device's result if it is unbatched."""
    if brand not in row or len(ys) == 1:
        return ys[0]
    # An MSTACK cannot hold views. The parts are flat so that a view of the whole is not a view of a part.
    parts = tuple(on_device(y, d).flatten().contiguous() for y, d in zip(ys, brand.devices, strict=True))
    out: UOp = UOp(Ops.MSTACK, ys[0].dtype, parts).reshape(ys[0].shape).unshard(row.index(brand))
    return out
