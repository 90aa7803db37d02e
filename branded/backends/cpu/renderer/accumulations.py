"""The accumulations of plain loops in C: sums and products in any order, and maxima.

Clang by default fuses a product with its sum under the conditions of the factors, which prevents vectorization.  So
each step of a sum is a call of a function that allows another order.

Maxima of floats are maxima of ints in the same order.  Clang vectorizes `fmax`, but it looks for NaN in each vector and
takes the last elements of a row one by one, which costs two to five times as much as a maximum of ints.  Clang 22 also
computes wrong maxima with parts of vectors.  Here each float gets a key: its bits as an int, with all bits except the
sign inverted if the number is negative.  NaN has the smallest key, since the maximum ignores NaN.

Clang does not vectorize `|` of bools either, which is their maximum: one byte for each is 40 times as fast.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from tinygrad import dtypes
from tinygrad.dtype import DType
from tinygrad.uop.ops import Ops, UOp

from branded.tinygrad_compat.private_api import AddrSpace

C_FLOATS = {dtypes.float32: "float", dtypes.float64: "double"}
_INTS = {"float": ("int", 31, "0x7fffffff"), "double": ("long long", 63, "0x7fffffffffffffff")}
_STEP = re.compile(r"( *)\*\((\w+\+\d+)\) = largest_(float|double)\(\(\*\(\2\)\), (.*)\);")

_BOOL_STEP = re.compile(r"( *)\*\((\w+\+\d+)\) = \(\(\*\(\2\)\)\|(.*)\);")
"""A maximum of bools; no other reduction has this form."""
_BODIES = {
    "sum": "({t} a, {t} b) {{\n#pragma clang fp reassociate(on)\n  return a + b;\n}}",
    "sum_of_products": "({t} a, {t} b, {t} c) {{\n#pragma clang fp reassociate(on) contract(fast)\n"
    "  return a + b * c;\n}}",
    "product": "({t} a, {t} b) {{\n#pragma clang fp reassociate(on)\n  return a * b;\n}}",
    "largest": "({t} a, {t} b) {{\n  return __builtin_fmax{f}(a, b);\n}}",
}


def _maxima_source(name: str) -> str:
    """Return the C functions for keys of `float` or `double`."""
    key, sign, most = _INTS[name]
    inline = "static inline __attribute__((always_inline))"
    return f"""{inline} {key} key_of_{name}({name} y) {{
  {key} x;
  __builtin_memcpy(&x, &y, sizeof x);
  return y == y ? x ^ ((x >> {sign}) & {most}) : -{most} - 1;
}}
{inline} {name} {name}_of_key({key} x) {{
  {name} y;
  x ^= (x >> {sign}) & {most};
  __builtin_memcpy(&y, &x, sizeof y);
  return y;
}}
{inline} {key} largest_key_of_{name}({key} a, {key} b) {{
  return a < b ? b : a;
}}"""


def _name(operation: str, dtype: DType) -> str:
    return f"{operation}_{C_FLOATS[dtype]}"


def _definition(operation: str, dtype: DType) -> str:
    body = _BODIES[operation].format(t=C_FLOATS[dtype], f="f" if dtype == dtypes.float32 else "")
    function = f"static inline __attribute__((always_inline)) {C_FLOATS[dtype]} {_name(operation, dtype)}{body}"
    return f"{function}\n{_maxima_source(C_FLOATS[dtype])}" if operation == "largest" else function


def _reduction(store: UOp) -> tuple[str, tuple[UOp, ...]] | None:
    """Return the kind of reduction that a store performs and its operands, or None."""
    target, value = store.src[0], store.src[1]
    if target.addrspace is not AddrSpace.REG or value.dtype not in C_FLOATS or value.max_numel() != 1:
        return None
    if value.op in (Ops.ADD, Ops.MUL):
        terms = list(value.split_uop(value.op))
        before = [t for t in terms if t.op is Ops.LOAD and t.src[0] is target]
        if len(before) != 1 or len(terms) == 1:
            return None
        others = [t for t in terms if t is not before[0]]
        if value.op is Ops.ADD and len(others) == 1 and others[0].op is Ops.MUL:
            return "sum_of_products", (*before, *others[0].src)
        rest = functools.reduce(lambda a, b: UOp(value.op, src=(a, b)), others)
        return "sum" if value.op is Ops.ADD else "product", (*before, rest)
    if value.op is Ops.WHERE and value.src[0].op is Ops.CMPLT:
        (less, new, old) = value.src
        if old.op is Ops.LOAD and old.src[0] is target and less.src == (old, new):
            return "largest", (old, new)
    return None


def as_calls(uops: list[UOp]) -> tuple[list[UOp], list[str]]:
    """Return the program with each accumulation as a call, and the functions that are called."""
    new: dict[UOp, UOp] = {}
    functions: dict[str, None] = {}

    def put(u: UOp) -> UOp:
        """Return the line or its replacement, after adding its operands."""
        if u not in new:
            new[u] = u.replace(src=tuple(put(s) for s in u.src))
        return new[u]

    for u in uops:
        if u.op is Ops.STORE and (reduction := _reduction(u)) is not None:
            operation, args = reduction
            functions[_definition(operation, u.src[1].dtype)] = None
            places = ", ".join(f"{{{i}}}" for i in range(len(args)))
            name = _name(operation, u.src[1].dtype)
            call = put(UOp(Ops.CUSTOMI, src=args, arg=f"{name}({places})"))
            new[u] = u.replace(src=(put(u.src[0]), call))
        else:
            put(u)
    if not functions:
        return uops, []
    *_, last = new.values()
    used = last.backward_slice_with_self  # without the lines that only replaced sums used
    return [u for u in new.values() if u in used], list(functions)


def by_keys(space: str, body: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the lines before a loop, of its body, and after it; the body computes maxima of keys.

    Args:
        space: the indentation of the loop.
        body: the lines of the loop.
    """
    before, inside, after = list[str](), list[str](), list[str]()
    for line in body:
        step, is_bool = _STEP.fullmatch(line), False
        if step is None:
            step, is_bool = _BOOL_STEP.fullmatch(line), True
        if step is None or sum(f"({step[2]})" in other for other in body) != 1:
            inside.append(line)
            continue
        place, key = f"*({step[2]})", f"key_{step[2].replace('+', '_')}"
        if is_bool:
            before.append(f"{space}unsigned char {key} = {place};")
            inside.append(f"{step[1]}{key} = {key}|{step[3]};")
            after.append(f"{space}{place} = {key};")
        else:
            name = step[3]
            before.append(f"{space}{_INTS[name][0]} {key} = key_of_{name}({place});")
            inside.append(f"{step[1]}{key} = largest_key_of_{name}({key}, key_of_{name}({step[4]}));")
            after.append(f"{space}{place} = {name}_of_key({key});")
    return before, inside, after
