"""The mypy plugin: `plugins = branded.mypy`.

One rule: `vmap(f, …)(x, y)` has the type of `f(x', y')`, where `x'` is `x` with a fresh brand in its rows (as `in_axes`
says); then the brand is removed; if it still occurs, it escaped.

- `rows`      the algebra of rows: sets of brands, and the trees of values that carry them
- `axes`      `in_axes` and `out_axes`, read as literals
- `leaves`    what can be mapped over, and what can be stacked
- `options`   the options of a vmap
- `opening`   fresh brands, and which are open
- `callables` what can be called, and the call of it that is looked at
- `mapping`   the rule
- `transforms` when the rule has its arguments: `vmap(f)(x)`, `vmap(f)`, `@vmap(in_axes=1)`
- `bodies`    the functions that transforms are given, and trees that must agree
- `derivatives`, `loops`, `collectives`, `custom`  what each of the transforms gives
- `operands`  the rows that the operands of a call give it
- `widening`  containers of narrower rows, where a function is called
- `quiet`     files that say nothing of rows
- `walking`, `again`  the parts of a body, and a body that is looked at once more
- `remembering` what mypy finds in a lambda, kept while a rule looks at it
- `instances` functions of quiet files, for values that vary
- `keeping`   values that a mapped function keeps, and rows that are lost in it
- `flow`      the arguments on which the parts of a result depend
- `unvaried`  batches that were closed over
- `marks`     calls put into a file, by which mypy asks us of patterns and displays
- `displays`  what `[a, b]` of two rows holds
- `foreign`, `narrowing`, `indexing`  what Python, math and numpy make of a Vec; isinstance and `case`; slices and `+=`
- `results`   what calls give: plain tensors, brands entered and left
- `reading`   what has no single value: numpy(), bool(), `if a > 0`
- `plugin`    which hook calls what
"""

from __future__ import annotations

import sys

from branded.mypy.plugin import VERSION, BrandedPlugin


def plugin(version: str) -> type[BrandedPlugin]:
    """What mypy calls."""
    if getattr(sys.modules.get("branded"), "_for_mypy_alone", False):
        del sys.modules["branded"]  # it is empty; whoever imports it later in this process gets the whole
    return BrandedPlugin


__all__ = ["BrandedPlugin", "plugin"]
__version__ = VERSION
