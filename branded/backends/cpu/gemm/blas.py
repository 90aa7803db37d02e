"""Matrix multiplications by the BLAS that numpy ships, called from C.

BLAS reads and writes tinygrad's buffers in place.  numpy's wheels include OpenBLAS as a shared library with 64-bit
sizes and prefixed names.  Without OpenBLAS or a C compiler, `is_there` returns False and kernels do the work.  Denormal
numbers count as zero: see `denormals`.
"""

from __future__ import annotations

import ctypes
import functools
import math
import struct
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from tinygrad import dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp

from branded.backends.cpu.renderer import denormals
from branded.backends.cpu.runtime import native
from branded.backends.cpu.runtime.native import Address
from branded.tinygrad_compat.lazy_numpy import np

LOOPS = 3
"""The maximum number of axes around a product of two matrices."""


class OuterAxis(NamedTuple):
    """An axis around the products: its size, and the strides of each operand and of the result, in elements."""

    size: int
    a: int
    b: int
    out: int
    """The stride of the result; 0 if the products along the axis are summed."""


class Beginning(NamedTuple):
    """The offset of an operand in its buffer, in elements, and its increment per step of a variable."""

    offset: int = 0
    by_variable: int = 0


class Product(NamedTuple):
    """`out = alpha * a @ b`, m by k times k by n, row-major; if `is_vector`, n is 1 and `ldb`, `ldc` are strides."""

    dtype: DType
    m: int
    n: int
    k: int
    lda: int
    ldb: int
    ldc: int
    a_is_transposed: bool
    b_is_transposed: bool
    is_vector: bool
    a: Beginning
    b: Beginning
    out: Beginning
    alpha: float
    loops: tuple[OuterAxis, ...]

    @property
    def multiplications(self) -> int:
        return self.m * self.n * self.k * math.prod(loop.size for loop in self.loops)

    def numbers(self) -> list[int]:
        """Return the C function's arguments after the addresses and the variable."""
        form = self.a_is_transposed + 2 * self.b_is_transposed + 4 * self.is_vector
        if self.is_vector and self.a_is_transposed:
            sizes = (self.k, self.m)  # the sizes of the matrix as stored
        elif self.is_vector:
            sizes = (self.m, self.k)
        else:
            sizes = (self.m, self.n)
        words = [form, *sizes, self.k, self.lda, self.ldb, self.ldc]
        words += [self.a.offset, self.b.offset, self.out.offset]
        words += [self.a.by_variable, self.b.by_variable, self.out.by_variable]
        words += struct.unpack("q", struct.pack("d", self.alpha))
        for loop in (*self.loops, *[OuterAxis(1, 0, 0, 0)] * (LOOPS - len(self.loops))):
            words += loop
        return [x % 2**64 for x in words]

    def words(self) -> list[int]:
        """Return the words of the C function's table that follow the variable."""
        shared, system = _shared(self)
        form, *numbers = self.numbers()
        return [form + shared, *numbers, system]

    def symbol(self) -> int:
        """Return the address of the BLAS function."""
        return _blas_symbol(self.dtype, self.is_vector)

    def function(self) -> tuple[Any, int]:
        """Return the compiled C function, for Python and as an address."""
        return native.compile_function(_source(self.dtype, _shared(self)[0] >> 8 > 1), "branded_product")


class Multiplication(Protocol):
    """A product of two arrays that a C function of one table of words computes."""

    @property
    def dtype(self) -> DType: ...
    @property
    def m(self) -> int: ...
    @property
    def n(self) -> int: ...
    @property
    def k(self) -> int: ...
    @property
    def is_vector(self) -> bool: ...
    @property
    def loops(self) -> tuple[OuterAxis, ...]: ...
    @property
    def multiplications(self) -> int: ...
    def symbol(self) -> int: ...
    def words(self) -> list[int]: ...
    def function(self) -> tuple[Any, int]: ...


class ProductName(str):
    """The name of a product in tinygrad's graph; it carries the product."""

    product: Multiplication

    def __new__(cls, product: Multiplication) -> ProductName:
        name = super().__new__(cls, f"product{tuple(cast('tuple[Any, ...]', product))}")
        name.product = product
        return name

    def __reduce__(self) -> Any:
        return ProductName, (self.product,)

    @property
    def short(self) -> str:
        p = self.product
        return "x".join(["product", *(str(loop.size) for loop in p.loops), f"{p.m}x{p.n}x{p.k}"]).replace("tx", "t ", 1)


def call(product: Multiplication, variable: UOp | None) -> UOp:
    """Return the product as the target of a CALL in tinygrad's graph, for a result and two operands."""
    return UOp(Ops.CUSTOM_FUNCTION, src=() if variable is None else (variable,), arg=ProductName(product))


_FUNCTIONS = ("scipy_cblas_sgemm64_", "scipy_cblas_dgemm64_", "scipy_cblas_sgemv64_", "scipy_cblas_dgemv64_")


@functools.cache
def library() -> ctypes.CDLL | None:
    """Return the OpenBLAS that numpy ships, or None if numpy has another BLAS."""
    beside = Path(np.__file__).parent
    folders = (beside.parent / "numpy.libs", beside / ".dylibs")
    for path in (p for folder in folders for p in sorted(folder.glob("*scipy_openblas64_*"))):
        try:
            blas = ctypes.CDLL(str(path))
        except OSError:
            continue
        if all(hasattr(blas, name) for name in _FUNCTIONS):
            return blas
    return None


def is_there(device: str) -> bool:
    """Return whether BLAS can multiply matrices on this device."""
    return native.can_run(device) and library() is not None


@functools.cache
def _blas_symbol(dtype: DType, is_vector: bool) -> int:
    name = f"scipy_cblas_{'d' if dtype == dtypes.float64 else 's'}{'gemv' if is_vector else 'gemm'}64_"
    return int(ctypes.cast(getattr(library(), name), ctypes.c_void_p).value or 0)


_THREADED = {False: 262_144, True: 9_216}
"""The multiplications above which OpenBLAS uses threads, by `is_vector`.

OpenBLAS's threads wait for each other through the scheduler: on a busy machine a product of 50 us takes 40 ms.  So
OpenBLAS gets one thread, and threads of this module share large products.  Each free thread takes the next part; a
thread that starts late finds no part left, and no other thread waits for it.
"""
PARTS = 2
"""The number of parts per thread."""
_WORTH = 1 << 22
"""The number of multiplications that justify a thread."""
MOST = 16
_BY_LOOP, _BY_ROWS, _BY_COLUMNS = 1, 2, 3


@functools.cache
def _system() -> tuple[int, Any, int]:
    """Return the address of a table of C functions, the object that keeps it alive, and the maximum number of threads.

    The table has OpenBLAS's `set_num_threads` and the functions that `SHARED` uses for threads.  The address is 0 if
    one of them is missing.
    """
    blas = library()
    try:
        here = ctypes.CDLL(None)
        threading = (here.pthread_create, here.pthread_detach, here.malloc, here.free, here.sched_yield, here.usleep)
        functions = (getattr(blas, "openblas_set_num_threads_local"), *threading)  # noqa: B009
        threads = int(getattr(blas, "scipy_openblas_get_num_threads64_")())  # noqa: B009
    except (AttributeError, OSError, TypeError):
        return 0, None, 1
    table = (ctypes.c_uint64 * len(functions))(*(ctypes.cast(f, ctypes.c_void_p).value or 0 for f in functions))
    return ctypes.addressof(table), table, min(threads, MOST)


def threads_for(multiplications: int) -> tuple[int, int]:
    """Return the address of the table of C functions, and the number of threads that a product justifies."""
    system, _, most = _system()
    return system, max(min(most, multiplications // _WORTH), 1)


def _shared(p: Product) -> tuple[int, int]:
    """Return how to divide a product, encoded for C, and the address of the table; both are 0 for small products."""
    system, threads = threads_for(p.multiplications)
    if threads == 1 and p.m * p.n * p.k <= _THREADED[p.is_vector]:
        return 0, 0
    if p.loops and p.loops[0].out and p.loops[0].size >= 2 * threads:
        by = _BY_LOOP
    else:
        by = _BY_ROWS if p.is_vector or p.m >= p.n else _BY_COLUMNS
    return 16 * by + 256 * threads, system


def _calls(real: str) -> str:
    """Return the C loops around BLAS; its 101, 111 and 112 mean row-major, not transposed and transposed."""
    sizes = "long long, long long"
    matrix = f"int, int, int, {sizes}, long long, {real}, {real} *, long long, {real} *, long long"
    vector = f"int, int, {sizes}, {real}, {real} *, long long, {real} *, long long"
    return f"""
    {real} *pa = ({real} *)a + oa + va * i, *pb = ({real} *)b + ob + vb * i, *pc = ({real} *)out + oc + vc * i;
    for (i64 x = 0; x < n0; x++)
      for (i64 y = 0; y < n1; y++)
        for (i64 z = 0; z < n2; z++) {{
          {real} *qa = pa + x * a0 + y * a1 + z * a2, *qb = pb + x * b0 + y * b1 + z * b2;
          {real} *qc = pc + x * c0 + y * c1 + z * c2, beta = (c0 || !x) && (c1 || !y) && (c2 || !z) ? 0 : 1;
          if (form & 4)
            ((void (*)({vector}, {real}, {real} *, long long))fn)
              (101, form & 1 ? 112 : 111, m, n, alpha.real, qa, lda, qb, ldb, beta, qc, ldc);
          else
            ((void (*)({matrix}, {real}, {real} *, long long))fn)
              (101, form & 1 ? 112 : 111, form & 2 ? 112 : 111, m, n, k, alpha.real, qa, lda, qb, ldb, beta, qc, ldc);
        }}"""


HEAD = ("number", "failed", "fn", "out", "a", "b", "i")
"""The first words of the table of a product."""
_TAKES = (
    *HEAD,
    *("form", "m", "n", "k", "lda", "ldb", "ldc"),
    *("oa", "ob", "oc", "va", "vb", "vc", "bits"),
    *(f"{x}{i}" for i in range(LOOPS) for x in "nabc"),
    "system",
)
_PART = f"""
static void part(i64 *to, const i64 *w, i64 t, i64 count) {{
  for (int i = 0; i < WORDS; i++) to[i] = w[i];
  i64 form = w[Wform], by = form >> 4 & 15, unit = by == {_BY_LOOP} ? 1 : 16;
  i64 *size = to + (by == {_BY_LOOP} ? Wn0 : by == {_BY_COLUMNS} || (form & 5) == 5 ? Wn : Wm);
  i64 low = *size * t / count / unit * unit, high = t + 1 == count ? *size : *size * (t + 1) / count / unit * unit;
  *size = high - low;
  if (by == {_BY_LOOP}) {{
    to[Woa] += low * w[Wa0]; to[Wob] += low * w[Wb0]; to[Woc] += low * w[Wc0];
  }} else if (by == {_BY_ROWS}) {{
    to[Woa] += low * (form & 1 ? 1 : w[Wlda]); to[Woc] += low * w[Wldc];
  }} else {{
    to[Wob] += low * (form & 2 ? w[Wldb] : 1); to[Woc] += low;
  }}
}}
"""
# each thread of `shared` takes the next part of the product
SHARED = f"""
struct job {{
  i64 next, done, users, count;
  u64 *functions;
  i64 words[WORDS];
}};
static void parts(struct job *job) {{
  i64 t, own[WORDS];
  while ((t = __atomic_fetch_add(&job->next, 1, __ATOMIC_SEQ_CST)) < job->count) {{
    part(own, job->words, t, job->count);
    work(own);
    __atomic_fetch_add(&job->done, 1, __ATOMIC_SEQ_CST);
  }}
}}
static void leave(struct job *job, i64 users) {{
  u64 *functions = job->functions;
  if (__atomic_fetch_sub(&job->users, users, __ATOMIC_SEQ_CST) == users) ((void (*)(void *))functions[FREE])(job);
}}
static void *helper(void *p) {{
  parts((struct job *)p);
  leave((struct job *)p, 1);
  return 0;
}}
static int shared(u64 *functions, const i64 *words, i64 count) {{
  struct job *job = ((void *(*)(u64))functions[MALLOC])(sizeof(struct job));
  if (!job) return 0;
  job->next = job->done = 0, job->users = count, job->count = {PARTS} * count, job->functions = functions;
  for (int i = 0; i < WORDS; i++) job->words[i] = words[i];
  i64 absent = 0;
  for (i64 t = 1; t < count; t++) {{
    u64 thread = 0;
    if (((int (*)(u64 *, void *, void *(*)(void *), void *))functions[CREATE])(&thread, 0, helper, job)) absent++;
    else ((int (*)(u64))functions[DETACH])(thread);
  }}
  parts(job);
  for (int turns = 0; __atomic_load_n(&job->done, __ATOMIC_SEQ_CST) < job->count; turns++)
    if (turns < 100) ((int (*)(void))functions[YIELD])();
    else ((int (*)(unsigned))functions[SLEEP])(20);
  leave(job, 1 + absent);
  return 1;
}}
"""


@functools.cache
def _source(dtype: DType, is_shared: bool) -> str:
    """Return the C function for products of one dtype, with threads or without: clang takes 7 ms more for everything.

    Without optimization it compiles in half the time, at no measurable cost in speed.
    """
    return f"""{denormals.MACRO}
typedef unsigned long long u64;
typedef long long i64;
#pragma clang attribute push (__attribute__((optnone, noinline)), apply_to = function)
enum {{ {", ".join(f"W{x}" for x in _TAKES)}, WORDS }};
enum {{ SET, CREATE, DETACH, MALLOC, FREE, YIELD, SLEEP }};
static void *work(void *);
{_PART + SHARED if is_shared else "#define shared(functions, words, count) 0"}
void branded_product(u64 at) {{
  i64 *words = (i64 *)at, count = words[Wform] >> 8;
  u64 *functions = (u64 *)words[Wsystem];
  int before = functions ? ((int (*)(int))functions[SET])(1) : 0;
  if (!functions || count == 1 || !shared(functions, words, count)) work(words);
  if (functions) ((int (*)(int))functions[SET])(before);
  words[Wfailed] = 0;
}}
static void *work(void *p) {{
  i64 *w = (i64 *)p, {", ".join(f"{x} = w[W{x}]" for x in _TAKES)};
  union {{ i64 bits; double real; }} alpha = {{ bits }};
  if (!m || !n || !n0) return 0;
  FLUSH_DENORMALS
  {{{_calls("double" if dtype == dtypes.float64 else "float")}
  }}
  KEEP_DENORMALS
  return 0;
}}
#pragma clang attribute pop
"""


def kernel(call: UOp, args: Sequence[Sequence[Address]], step: str | None, value_of: dict[str, int]) -> native.Hosted:
    """Return a product as a C call on the buffers of each turn; its variable is a loop's step or has a known value."""
    name: ProductName = call.src[0].arg
    p, variables = name.product, [v.expr for v in call.src[0].src]
    by = [value_of.get(v, 0) for v in variables] or [0]
    words = [[0, 1, p.symbol(), *addresses, *by, *p.words()] for addresses in args]
    step_at = HEAD.index("i") if step in variables else -1
    return native.Hosted(p.function()[1], words, name.short, is_c=True, step=step_at)


def run(call: UOp, addresses: Sequence[int], value_of: dict[str, int]) -> None:
    (args,) = kernel(call, [addresses], None, value_of).args
    words = array("Q", cast("Sequence[int]", args))
    call.src[0].arg.product.function()[0](words.buffer_info()[0])
