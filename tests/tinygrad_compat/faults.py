"""Programs that fail without the patches of `branded`: `python -m tests.tinygrad_compat.faults` runs all of them.

Each asserts the correct result.  `test_patches.py` runs them with `branded`, where they pass, and in a process without
it, where they fail: a program that passes there is a fault that tinygrad has fixed, and its patch can go.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import sys
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, codegen, dtypes, function
from tinygrad.engine.realize import get_runtime
from tinygrad.uop.ops import AxisType, KernelInfo, Ops, UOp, all_metadata

CRASHES = ("alignment", "numbering", "quotients")
"""The programs that end the process."""


def images() -> None:
    x = Tensor(np.arange(8, dtype=np.int32).reshape(1, 2, 4)).realize()
    assert function(lambda x: x + x, precompile=True)(x).tolist() == [[[0, 2, 4, 6], [8, 10, 12, 14]]]


def ranges() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    assert x.cat(x).sum().item() == 20


def one_hots() -> None:
    same = (Tensor.eye(2) * Tensor.eye(4).reshape(2, 2, 2, 2)).sum(-1)  # the matrices (i, k) and (2a + b, 2i + k)
    assert same.tolist() == [[[1, 0], [0, 0]], [[0, 0], [0, 1]]]


def numbering() -> None:
    out, x = UOp.param(0, dtypes.float, (8,), "CPU"), UOp.param(5, dtypes.float, (8,), "CPU")
    thread, i = UOp.range(2, 0, AxisType.THREAD), UOp.range(4, 1, AxisType.LOOP)
    n = UOp.variable("n", 0, 7, dtypes.int, param=True)
    at = thread * 4 + i
    write = out.index(at).store(x.index(at) * 2 + n.cast(dtypes.float))
    kernel = codegen.to_program(
        write.end(thread, i).sink(arg=KernelInfo(name="threads", opts_to_apply=())), Device["CPU"].renderer
    )
    given, result = Tensor(np.arange(8, dtype=np.float32)).to("CPU").realize(), Tensor.zeros(8, device="CPU").clone()
    buffers: Any = [t.realize().uop.buffer for t in (result, given)]
    sizes = kernel.arg.launch_dims({"n": 3})[0]
    get_runtime("CPU", kernel)(*[b.get_buf("CPU") for b in buffers], global_size=sizes, vals=kernel.arg.vals({"n": 3}))
    assert result.tolist() == [3, 5, 7, 9, 11, 13, 15, 17]


def alignment() -> None:
    x = Tensor(np.arange(100, dtype=np.float32), device="CPU").realize()
    part = x[1:65].contiguous().realize()
    assert (part * 2 + 1).tolist() == [2 * i + 1 for i in range(1, 65)]


def views() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    assert x[:1].contiguous()[:, :1].tolist() == [[1.0]]


def copies() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    assert ((x.to(("CPU:0", "CPU:1")) * 2).to("CPU:0") + x.sum(0)).tolist() == [[6.0, 10.0], [10.0, 14.0]]


def copies_of_all() -> None:
    x = Tensor([2.0], device="CPU").realize()
    assert x.expand(2).shard(("CPU:0", "CPU:1"), 0).tolist() == [2.0, 2.0]


def copies_of_one_entry() -> None:
    x = Tensor([2.0, 3.0], device="CPU").realize()
    x.sum().reshape(1).expand(2).exp().to(("CPU:0", "CPU:1")).schedule_linear()


def copies_of_shards() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 5.0]], device="CPU").shard(("CPU:0", "CPU:1"), 0)
    assert (x.sum(1).to("CPU:0") + x.to("CPU:0").sum(0)).tolist() == [7.0, 15.0]


def empty() -> None:
    total = function(lambda x, y: x.sum() + y, precompile=True)
    assert total(Tensor.empty(0), Tensor([1.0]).realize()).tolist() == [1.0]


def whole() -> None:
    x = Tensor([5.0]).realize()
    x[0] = 7
    assert x.tolist() == [7.0]
    y = Tensor.empty(1, dtype=dtypes.int)
    y[0] = Tensor([5])[0] + 1
    assert y.tolist() == [6]
    z = Tensor([[1.0, 2.0]]).realize().clone()
    z[0:1] += 1
    z.sum().item()
    assert z.tolist() == [[2.0, 3.0]]


def strided_writes() -> None:
    x, reversed_x, y = (Tensor([0.0, 1.0, 2.0, 3.0]).realize() for _ in range(3))
    x[::2] = 9
    x[1::2] += 1
    reversed_x[::-2] = Tensor([8.0, 9.0])
    y[::2].assign(Tensor([8.0, 9.0]))
    assert x.sum().item() == 24 and x.tolist() == [9.0, 2.0, 9.0, 4.0]
    assert reversed_x.tolist() == [0.0, 9.0, 2.0, 8.0] and y.tolist() == [8.0, 1.0, 9.0, 3.0]


def workers() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).realize()
    with Context(PARALLEL=1):
        total, other = x.cat(x).sum(), (x * 2.625 - 7).contiguous()
        total.realize(other)  # two kernels, which other processes compile
    assert total.item() == 42


def gates() -> None:
    bools, ints = np.arange(264) % 3 == 0, np.arange(8, dtype=np.int32)
    joined = Tensor(bools, device="CPU").cast(dtypes.int32).cat(Tensor(ints, device="CPU"))
    assert np.array_equal(joined.numpy(), np.concatenate([bools.astype(np.int32), ints]))


def vectorizer() -> None:
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    sums = Tensor(x, device="CPU").realize().roll(1, 1).cumsum(0)
    assert np.array_equal(sums.numpy(), np.roll(x, 1, 1).cumsum(0))
    small = np.arange(1024).astype(np.uint8).reshape(16, 64)
    moved = Tensor(small, device="CPU").realize().roll((-1, -1), (0, 1))
    assert np.array_equal(moved.numpy(), np.roll(small, (-1, -1), (0, 1)))


def products() -> None:
    b, c = (Tensor(np.array(x)).realize() for x in ([True, False], [True, True]))
    same = b.reshape(2, 1).expand(2, 4).all(1)
    assert (same ^ c).tolist() == [False, True] and same.where(1, 2).tolist() == [1, 2]


def constants() -> None:
    assert Tensor(197, dtype="uint8").expand(3).sum(dtype="uint8").cast("int32").item() == 79
    assert Tensor(300).cast("uint8").cast("int32").item() == 44 and (Tensor(100, dtype="int8") + 100 < 0).item()


def nan() -> None:
    c = Tensor([True, False]).realize()
    x = c.where(float("nan"), Tensor([1.0, 2.0]).realize())
    assert x.isnan().tolist() == [True, False] and x.ne(x).tolist() == [True, False]
    assert Tensor(float("nan")).isnan().item() and not Tensor(1.0).ne(1.0).item()


def argmax() -> None:
    x = Tensor([[float("nan"), 1, 2], [2, float("nan"), 1], [0, 3, 3]]).realize()
    assert x.argmax(1).tolist() == [0, 1, 1] and x.argmin(1).tolist() == [0, 1, 0] and x.argmax().item() == 0


def shifts() -> None:
    x = Tensor([True, False]).realize().cast("int64") >> 32
    assert all(u.dtype == dtypes.int64 for u in x.uop.simplify().toposort() if u.op is Ops.SHR)
    assert (1 << Tensor([0, 3]).realize()).tolist() == [1, 8]


def quotients() -> None:
    x, y = (Tensor(v, device="CPU").realize() for v in ([7, -7, -(2**31), 5], [0, 2, -1, 0]))
    assert y.ne(0).where(x // y, 0).tolist() == [0, -4, -(2**31), 0] and (x % y).tolist() == [0, 1, 0, 0]


def angles() -> None:
    x = Tensor([800.0, 40000.0], dtype="float64", device="CPU").realize()
    off = [abs(a - math.cos(b)) for a, b in zip(x.cos().tolist(), x.tolist(), strict=True)]
    assert max(off) < 1e-10


def bounds() -> None:
    x = Tensor([250, 100]).realize().clamp(200, 300).cast("int8")
    assert (x < 0).tolist() == [True, True] and x.cast("int32").tolist() == [-6, -56]


def powers() -> None:
    a, b = Tensor([3, -2, 10]).realize(), Tensor([5, 3, 0]).realize()
    assert (a**b).tolist() == [243, -8, 1] and (10**b).tolist() == [100000, 1000, 1]


def remainders() -> None:
    x, y = Tensor([1.5, -1.5]).realize(), Tensor([math.inf, math.inf]).realize()
    assert (x % y).tolist() == [1.5, math.inf] and (x // y).tolist() == [0, -1]


def divisors() -> None:
    x = Tensor([3, 200], dtype="uint8").realize()
    assert (x // -2).tolist() == [0, 0] and (x % -3).tolist() == [3, 200] and (-7 // x).tolist() == [83, 1]


def widening() -> None:
    a, b = (Tensor(x, dtype="int32").realize() for x in ([2**31 - 1, 2**31 - 1], [1, 2]))
    assert a.mean().item() == 2**31 and b.var().item() == 0.5 and a.dot(b, dtype="int64").item() == 3 * (2**31 - 1)


def rounding() -> None:
    x = Tensor([1.0001, 3.14159]).realize()
    assert x.half().float().tolist() == x.half().realize().float().tolist() == [1.0, 3.140625]


def small_ints() -> None:
    a, b = (Tensor(x, dtype="uint8", device="CPU").realize() for x in ([200, 3], [100, 5]))
    assert (a + b).cast("int32").tolist() == [44, 8] and (a - b > 99).tolist() == [True, True]
    assert (a * b).float().tolist() == [32, 15] and a.sum(dtype="uint8").cast("int32").item() == 203
    h = Tensor([30000, -30000], dtype="int16", device="CPU").realize()
    assert (h + h).cast("int32").tolist() == [-5536, 5536]
    i = Tensor([65535, -65533], dtype="int32", device="CPU").realize()
    assert (i * i).cast("int64").tolist() == [-131071, -393207]


def compiled_results() -> None:
    twice = TinyJit(function(lambda x: x * 2, precompile=True))
    assert [twice(Tensor([float(i)]).realize()).item() for i in range(4)] == [0, 2, 4, 6]


def functions_in_functions() -> None:
    w = Tensor([2.0, 3.0]).realize()
    inner = function(lambda a, b, c: a.sum() * b * c.sum())
    outer = function(lambda w: inner(w.reshape(1, 2), w * w, w.reshape(2, 1, 1)).sum())
    assert outer(w).gradient(w)[0].tolist() == [230.0, 280.0]


def later_writes() -> None:
    x = Tensor([1.0, 2.0]).realize()
    view = x[:1]
    view += 1
    total = x.sum()
    view += 1
    assert total.item() == 4


def writes_through_reshapes() -> None:
    x = Tensor([1.0, 2.0]).realize()
    column = x.reshape(2, 1)
    column += 1
    row = Tensor([[1.0, 2.0]]).realize()
    row[0][:1].assign(Tensor([5.0]))
    assert x.tolist() == [2.0, 3.0] and row.tolist() == [[5.0, 2.0]]


def writes_to_values() -> None:
    x, source = Tensor([1.0, 2.0]).realize(), Tensor([5.0, 6.0]).realize()
    y = x + 1
    y.assign(source).realize()
    source.assign(source * 2).realize()
    assert y.tolist() == [5.0, 6.0] and y[1].item() == 6.0


def writes_through_views_of_values() -> None:
    x = Tensor([1.0, 2.0]).realize() + 1
    view = x[:1]
    view += 1
    assert x.tolist() == [3.0, 3.0]


def writes_after_changes() -> None:
    x = Tensor([1.0, 2.0]).realize()
    x[0:1] *= 2
    x[1:2].assign(Tensor([7.0]))
    assert x.tolist() == [2.0, 7.0]


def nesting() -> None:
    out, x = (UOp.param(i, dtypes.float, (1,), "CPU") for i in range(2))
    zero, half = (UOp(Ops.CAST, t, (UOp.const(n),), t) for n, t in ((0, dtypes.int), (0.5, dtypes.float)))
    value = x.index(zero).load()
    for _ in range(1200):
        value = value * half + half
    kernel = out.index(zero).store(value).sink(arg=KernelInfo())
    source = Device["CPU"].renderer.render(list(kernel.toposort()))
    depths = accumulate((c in "([{") - (c in ")]}") for c in source)
    assert max(depths) < 2048  # the most that clang accepts


def pickles() -> None:
    x = Tensor([1.0]).realize()
    for _ in range(5000):
        x = x * 1.01 + 0.1
    u = x.uop
    assert pickle.loads(pickle.dumps(u)) is u


def ordering() -> None:
    class Number:
        compared = 0

        def __init__(self, value: int) -> None:
            self.value = value

        def __eq__(self, other: object) -> bool:
            Number.compared += 1
            return self is other

        def __lt__(self, other: Number) -> bool:
            Number.compared += 1
            return self.value < other.value

        def __hash__(self) -> int:
            return self.value

    def chain(x: UOp) -> UOp:
        for _ in range(120):
            x = UOp(Ops.NEG, dtypes.float, (x,))
        return x

    kernel = UOp.sink(*(chain(UOp(Ops.NOOP, dtypes.float, (), Number(i))) for i in range(4)))
    assert len(codegen.linearize(kernel)) == 485 and Number.compared < 1_000


def vector_casts() -> None:
    x = Tensor([2.5, 2.0, 1.75, 1.25], dtype="float16", device="CPU").realize()
    assert (x * 0 + 1).contiguous().tolist() == [1.0] * 4


def bfloat16() -> None:
    x = Tensor([1.0, 0.0, 2.0], dtype="bfloat16", device="CPU").realize()
    assert x[:1].cat(x[:1] + x[2:]).contiguous().tolist() == [1.0, 3.0]


def byte_order() -> None:
    assert Tensor(np.array([1.0, 2.0], dtype=">f4")).tolist() == [1.0, 2.0]


def metadata() -> None:
    x = Tensor([1.0, 2.0]).realize()
    gradient, said = lambda: (x * 2).sin().sum().gradient(x), list[int]()
    kept = [gradient()]
    for _ in range(2):
        said.append(sum(len(names) for u, names in all_metadata.items() if u.op is Ops.CONST))
        kept.append(gradient())
    assert said[0] == said[1]


def launched() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], device="CPU").realize()
    y = x.shard(("CPU:0", "CPU:1"), 0).sum(1) + Tensor.arange(2)
    for call in y.schedule_linear().src:
        if call.src[0].op is Ops.SINK:
            codegen.full_rewrite_to_sink(call.src[0], Device["CPU"].renderer)


def alike() -> None:
    before = len(codegen.to_program_cache)
    for device in ("CPU", "CPU:1"):
        assert (Tensor([1.0, 2.0, 3.0], device=device).realize() * 1.375 + 0.625).tolist() == [2.0, 3.375, 4.75]
    assert len(codegen.to_program_cache) == before + 1


FIXED: tuple[Callable[[], None], ...] = (
    *(
        images,
        ranges,
        one_hots,
        numbering,
        gates,
        alignment,
        views,
        copies,
        copies_of_all,
        copies_of_shards,
        empty,
        whole,
        strided_writes,
        writes_through_reshapes,
        writes_to_values,
        workers,
        byte_order,
        products,
    ),
    *(
        nesting,
        pickles,
        ordering,
        constants,
        vector_casts,
        nan,
        metadata,
        argmax,
        shifts,
        quotients,
        launched,
        angles,
        alike,
        bounds,
        powers,
        remainders,
        divisors,
        widening,
        rounding,
    ),
    *(compiled_results, functions_in_functions),
)
OF_SOME_COMPILERS: tuple[Callable[[], None], ...] = (vectorizer, small_ints, bfloat16)
"""Programs that fail only with a C compiler, or only with some compilers and CPUs."""
OPEN: tuple[Callable[[], None], ...] = (*(later_writes, writes_through_views_of_values, writes_after_changes),)
"""Faults that we do not fix in plain tinygrad."""
NO_COMPILER = "no compiler: set CC, or install clang"
"""The outcome of a program that could not be compiled: nothing is known about its fault."""
OUTCOMES = ("right", "wrong", NO_COMPILER)


def main(names: list[str]) -> int:
    """Print the outcome of the programs with these names, or of all; the status is 1 if there is no compiler."""
    chosen = [
        f
        for f in (*FIXED, *OF_SOME_COMPILERS, *OPEN)
        if f.__name__ in names or (not names and f not in OF_SOME_COMPILERS)
    ]
    status = 0
    for program in sorted(chosen, key=lambda f: f.__name__ not in CRASHES):  # fork before there are threads
        name = program.__name__
        said = in_a_fork(program) if name in CRASHES else outcome(program)
        status |= said == NO_COMPILER
        print(name, said, flush=True)
    return status


def outcome(program: Callable[[], None]) -> str:
    try:
        program()
    except Exception as error:
        if isinstance(error, FileNotFoundError) and error.filename == os.environ.get("CC", "clang"):
            return NO_COMPILER
        return f"wrong {type(error).__name__}"
    return "right"


def in_a_fork(program: Callable[[], None]) -> str:
    """Return the outcome of a program that may end its process."""
    if (child := os.fork()) == 0:
        said = outcome(program)
        os._exit(OUTCOMES.index("wrong" if said.startswith("wrong") else said))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return f"ends {signal.Signals(-status).name}" if status < 0 else OUTCOMES[status]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
