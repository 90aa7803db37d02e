"""Suggested fixes for mypy's messages about types with different axes."""

from __future__ import annotations

import re

_LIST = r"(?:[^\[\]]|\[[^\[\]]*\])*"
_DIFFER = re.compile(
    rf'(?:type|got) "[^"]*?\bAxes\[(?P<got>{_LIST})\][^"]*"[;,] (?:expected|variable has type)'
    rf' "[^"]*?\bAxes\[(?P<wanted>{_LIST})\]'
)
_AXIS = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")


def advice(text: str) -> list[str]:
    """Return the lines to print under a mypy message about incompatible axes.

    Example:
        >>> from branded.mypy.axes.hints import advice
        >>> for line in advice('(got "Axes[Items, Users]", expected "Axes[Users, Items]")'): print(line)
          the axes are in another order
          try:   use transpose(), or declare the names in this order
    """
    if (differ := _DIFFER.search(text)) is None:
        return []
    got, wanted = ([a.strip() for a in _AXIS.findall(differ[side]) if a != "()"] for side in ("got", "wanted"))
    if sorted(got) == sorted(wanted):
        order = ", ".join(str(got.index(a)) for a in wanted)
        move = "transpose()" if len(got) == 2 else f"permute({order})"
        only = len(set(got)) == len(got)
        tries = [f"  try:   use {move}, or declare the names in this order"] if only else []
        return ["  the axes are in another order", *tries]
    if len(got) != len(wanted):
        return [f"  {_count_axes(len(got))} instead of {_count_axes(len(wanted))}"]
    return [f"  axis {i} is `{a}`, not `{b}`" for i, (a, b) in enumerate(zip(got, wanted, strict=True)) if a != b]


def _count_axes(n: int) -> str:
    return "no axes" if n == 0 else "1 axis" if n == 1 else f"{n} axes"
