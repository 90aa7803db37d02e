"""Iteration over the examples of a batch in C: operands broadcast, and results are contiguous.

The threads of `cores` share a slow batch; each part is a contiguous range along one axis.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

from tinygrad import dtypes
from tinygrad.dtype import DType

from branded.backends.cpu.runtime import cores, native
from branded.backends.cpu.runtime.host_calls import ArrayType, CFunction
from branded.tinygrad_compat import private_api

TYPES: dict[DType, str] = {
    dtypes.float32: "float",
    dtypes.float64: "double",
    dtypes.int32: "int",
    dtypes.int64: "long long",
}
"""The names in C of the dtypes that searches, reductions and running sums take."""
LOOPS = 4
"""The maximum number of batch axes after merging."""
TAKES = (
    *("table", "alone", "option", "m", "n", "k"),
    *(f"{x}{i}" for x in ("size", "a_step", "b_step") for i in range(LOOPS)),
    *("runner", "pool", "parts", "bytes0", "bytes1", "bytes2"),
    *("out0", "out1", "out2", "a", "b"),
)
"""The arguments of a C function, after the call's id and failure flag.

They are a table of C functions, numbers, the batch, its division among threads, and the addresses of results and
operands.
"""
BY_ONE = (0,) * 6
"""The arguments for a batch that is not divided."""

BEFORE = f"""
typedef unsigned long long u64;
typedef long long i64;
#define ONCE __attribute__((noinline, optnone))
struct job {{
  u64 *f, full;
  i64 option, m, n, k, size[{LOOPS}], a_step[{LOOPS}], b_step[{LOOPS}], at[{LOOPS}];
  char *out[3], *a, *b;
}};
static __attribute__((noinline)) int next(struct job *j) {{
  _Pragma("clang loop vectorize(disable) unroll(disable)")
  for (int d = {LOOPS - 1}; d >= 0; d--) {{
    j->a += j->a_step[d], j->b += j->b_step[d];
    if (++j->at[d] < j->size[d]) return 1;
    j->a -= j->a_step[d] * j->size[d], j->b -= j->b_step[d] * j->size[d], j->at[d] = 0;
  }}
  return 0;
}}
static void *taken(struct job *j, u64 malloc, i64 bytes) {{
  void *p = ((void *(*)(u64))malloc)(bytes > 0 ? (u64)bytes : 1);
  j->full = !p;
  return p;
}}
"""


def entry(name: str, body: str, before: str = "", after: str = "") -> str:
    """Return the C entry point: for each part of the batch, `body` sees its arguments as `struct job j`.

    `before` and `after` run once, with access to all arguments. Clang takes 10 ms less without optimizing the
    functions that run `ONCE` per call.
    """
    declarations = f"u64 *call = (u64 *)at, {', '.join(f'{x} = call[{i + 2}]' for i, x in enumerate(TAKES))};"
    return f"""
static ONCE void part_of_batch(u64 at, u64 part) {{
  {declarations}
  struct job j;
  j.f = (u64 *)table, j.full = 0, j.option = (i64)option, j.m = (i64)m, j.n = (i64)n, j.k = (i64)k;
  {" ".join(f"j.{x}[{i}] = (i64){x}{i};" for x in ("size", "a_step", "b_step") for i in range(LOOPS))}
  {" ".join(f"j.at[{i}] = 0;" for i in range(LOOPS))}
  {" ".join(f"j.out[{i}] = (char *)out{i};" for i in range(3))} j.a = (char *)a, j.b = (char *)b;
  if (parts > 1) {{
    i64 d = 0, inner = 1;
    while (j.size[d] == 1) d++;
    for (i64 i = d + 1; i < {LOOPS}; i++) inner *= j.size[i];
    i64 low = j.size[d] * (i64)part / (i64)parts, high = j.size[d] * (i64)(part + 1) / (i64)parts;
    j.size[d] = high - low, j.a += low * j.a_step[d], j.b += low * j.b_step[d];
    {" ".join(f"j.out[{i}] += low * inner * (i64)bytes{i};" for i in range(3))}
  }}
  {body};
  if (j.full) call[1] = {native.FULL};
}}
ONCE void {name}(u64 at) {{
  {declarations}
  call[1] = 0;
  {before}
  if (parts < 2) part_of_batch(at, 0);
  else {{
    u64 all[] = {{0, pool, (u64)part_of_batch, {cores.SIZES[0]}, 1, parts, at, 0, 0, 0, 0, 0}};
    ((u64 (*)(u64 *))runner)(all);
  }}
  {after}
}}
"""


def shared(work: float, steps: Sequence[int], results: Sequence[ArrayType], examples: int) -> Sequence[int]:
    """Divide a batch that takes `work` nanoseconds among threads, if the parallel C code is compiled."""
    size, threads = next((n for n in steps[:LOOPS] if n > 1), 1), min(private_api.NUM_CPU_THREADS.value, cores.MOST)
    if work < cores.LARGE or size == 1 or threads == 1 or not cores.address() or not native.is_compiled():
        return BY_ONE
    each = [x.nbytes // examples for x in results]
    return [native.replay_address(), cores.address(), min(2 * threads, size), *each, *[0] * (3 - len(each))]


def c_function(text: str, name: str, numbers: Sequence[int], results: int = 1) -> CFunction:
    """Compile a C function, and return it for a call with these numbers and this number of results."""
    function, address = native.compile_function(text, name)
    return CFunction(address, function, functools.partial(words, numbers, results))


def words(numbers: Sequence[int], results: int, addresses: Sequence[Any]) -> list[Any]:
    """Return the arguments of a call, given the addresses of its results and operands."""
    places = [*addresses[:results], *[0] * (3 - results), *addresses[results:]]
    return [*numbers, *places, *[0] * (5 - len(places))]


def steps(batch: Sequence[int], args: Sequence[ArrayType], core_ndims: Sequence[int]) -> list[int] | None:
    """Return the sizes of the batch axes and the byte strides of each operand, or None for too many axes.

    The last `core_ndims` axes of an operand belong to each example; the axes before them broadcast to the batch as in
    numpy.
    """
    moves = []
    for x, k in zip(args, core_ndims, strict=True):
        shape, tail = x.shape[: len(x.shape) - k], x.shape[len(x.shape) - k :]
        front = (1,) * (len(batch) - len(shape)) + shape
        if len(front) != len(batch) or any(n not in (1, size) for n, size in zip(front, batch, strict=True)):
            return None
        first = math.prod(tail) * x.dtype.itemsize
        sizes = list(itertools.accumulate(reversed(front), operator.mul, initial=first))[-2::-1]
        moves.append([0 if n == 1 else s for n, s in zip(front, sizes, strict=True)])
    loops: list[list[int]] = []
    for size, *by in zip(batch, *moves, *[[0] * len(batch)] * (2 - len(args)), strict=True):
        if size == 1:
            continue
        if loops and all(outer == inner * size for outer, inner in zip(loops[-1][1:], by, strict=True)):
            loops[-1] = [loops[-1][0] * size, *by]
        else:
            loops.append([size, *by])
    if len(loops) > LOOPS:
        return None
    full = [[1, 0, 0]] * (LOOPS - len(loops)) + loops
    return [loop[i] for i in range(3) for loop in full]


def join_last(steps: list[int], following: int) -> int:
    """Remove the last batch axis if its examples share the first operand, and return its size, otherwise 1.

    `following` is the stride in bytes of second operands that follow one another in memory.
    """
    last = slice(LOOPS - 1, None, LOOPS)
    size, *by = steps[last]
    if by != [0, following]:
        return 1
    steps[last] = [1, 0, 0]
    return size
