"""The two examples of "vmap in Haskell": zip and outer sum, with the type of each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygrad import Tensor

from branded.core.values import vec_type
from branded.core.vmap import vmap
from branded.learn.demo import show

ZIP = "vmap(lambda a, b: a + b)(a0, b0)"
OUTER = "vmap(lambda a: vmap(lambda b: a + b)(b0))(a0)"


def run() -> None:
    """Print both examples, each evaluated from the printed text."""
    show.heading('0  Two examples from "vmap in Haskell" (E. Z. Yang, 2020)')
    show.say(
        """A brand is the identity of one vmap. If both operands have a brand, their examples are zipped along it. If
        only one has it, the other is broadcast."""
    )
    show.code("a0, b0 = Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 6.0, 8.0])")

    show.say("Zip: one vmap opens one brand, here called `a`. Both operands have it, so their examples are paired.")
    _example(ZIP, "a", "b", "a + b")

    show.say("Outer sum: two vmaps open two brands. `a` and `b` share none, so the result has all pairs.")
    _example(OUTER, "a", "b", "a + b", "vmap(lambda b: a + b)(b0)")


def evaluate(text: str) -> tuple[Any, list[str]]:
    """Evaluate an expression in `a0` and `b0`; return its value and the types of its functions' arguments and results.

    Example:
        >>> from branded.learn.demo.haskell import OUTER, evaluate
        >>> result, types = evaluate(OUTER)
        >>> result.tolist()
        [[5.0, 7.0, 9.0], [6.0, 8.0, 10.0], [7.0, 9.0, 11.0]]
        >>> types
        ['Vec[a:3, f32[]]', 'Vec[b:3, f32[]]', 'Vec[a:3 | b:3, f32[]]', 'Vec[a:3, f32[3]]']
    """
    watch = show.Watch()

    def watched_vmap(f: Callable[..., Any]) -> Callable[..., Any]:
        return vmap(watch(f))

    names = {"vmap": watched_vmap, "a0": Tensor([1.0, 2.0, 3.0]), "b0": Tensor([4.0, 6.0, 8.0])}
    return eval(text, names), watch.types


def _example(text: str, *steps: str) -> None:
    show.code(text)
    result, types = evaluate(text)
    show.facts([*zip(steps, types, strict=True), ("result", vec_type(result)), ("", str(result.tolist()))])
