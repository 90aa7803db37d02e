"""The functions that match tinygrad's patterns, as a file of the package: `python -m tests.patterns` writes it."""

from __future__ import annotations

import gc

from tinygrad import Context, Tensor, dtypes
from tinygrad.uop.ops import PatternMatcher

from branded import jit, vmap
from branded.tinygrad_compat.speed import pattern_compiler

HEAD = '''"""Functions that match the patterns of tinygrad 0.14, by their texts: `python -m tests.patterns` wrote them.

A function's free names are values of its pattern, which `pattern_compiler.py` supplies.
"""

# mypy: ignore-errors
'''


def some_kernels() -> None:
    """With them come all matchers of a kernel for the CPU: some are made when they are asked for."""
    x = Tensor.rand(3, 5)
    ((x @ x.T).softmax() * 1.39 + (x.exp() < 1.1).where(x, x[:, :1]).pad(((0, 0), (1, 0))).sum()).tolist()
    (Tensor.arange(14).reshape(2, 7).cast(dtypes.uint8) % 5 // 2).cumsum(0).tolist()
    jit(lambda x: vmap(lambda y: (y.sin() * 1.41).sum())(x))(x).tolist()


def text() -> str:
    """The file, of the patterns of all matchers that there are."""
    with Context(CACHELEVEL=0, PARALLEL=0):  # type: ignore[no-untyped-call]
        some_kernels()
    bodies = set[str]()
    for matcher in [x for x in gc.get_objects() if isinstance(x, PatternMatcher)]:
        for p, f in matcher.patterns:
            code = f.__code__
            try:
                body, _ = pattern_compiler.match_body(
                    p, "ctx" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
                )
            except pattern_compiler._TooLong:
                continue
            bodies.add(body)
    functions = sorted(pattern_compiler.function(body, pattern_compiler.name(body)) for body in bodies)
    return "\n\n".join([HEAD, *functions]) + "\n"


if __name__ == "__main__":
    pattern_compiler.FILE.write_text(text(), encoding="utf-8")
