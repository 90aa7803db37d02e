"""Maxima of floats as maxima of ints in the same order, and maxima of bools as maxima of bytes.

Clang vectorizes `fmax`, but it looks for NaN in each vector and takes the last elements of a row one by one, which
costs two to five times as much as a maximum of ints.  Clang 22 also computes wrong maxima with parts of vectors.  Here
each float gets a key: its bits as an int, with all bits except the sign inverted if the number is negative.  NaN has
the smallest key, since the maximum ignores NaN.

Clang does not vectorize `|` of bools either, which is their maximum: one byte for each is 40 times as fast.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_INTS = {"float": ("int", 31, "0x7fffffff"), "double": ("long long", 63, "0x7fffffffffffffff")}
_STEP = re.compile(r"( *)\*\((\w+\+\d+)\) = largest_(float|double)\(\(\*\(\2\)\), (.*)\);")

_BOOL_STEP = re.compile(r"( *)\*\((\w+\+\d+)\) = \(\(\*\(\2\)\)\|(.*)\);")
"""A maximum of bools; no other reduction has this form."""


def maxima_source(name: str) -> str:
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
