"""What a puzzle is: what it asks, what it takes for an answer, and how it judges one.

A `Write` asks for a function, which is compared with the loop over the examples.  A `Predict` asks what a program
does, and runs it to know.  No answer is written down.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent
from types import CodeType
from typing import Any, NamedTuple

from tinygrad import Tensor

from branded import tree
from branded.core.brand import Brand
from branded.errors import one_line
from branded.learn.puzzles.outcome import Outcome, arrays, outcome, shown
from branded.learn.puzzles.truth import Unknown, printed, run_source, same_prediction, what_is_right
from branded.tinygrad_compat.lazy_numpy import np

__all__ = ["Predict", "Puzzle", "Status", "Verdict", "Write", "numbers"]


class Status(enum.Enum):
    """What is known of an answer."""

    SOLVED = "solved"
    NOT_YET = "not yet"
    UNTOUCHED = "untouched"
    UNKNOWN = "cannot tell"


class Difference(NamedTuple):
    """The first input for which an answer is not what it should be: the arguments, both results, the usual reason."""

    given: tuple[str, ...]
    wanted: Outcome
    got: Outcome
    why: str | None

    @property
    def lines(self) -> tuple[str, ...]:
        given = [f"{'' if i else 'with:':<9} {text}" for i, text in enumerate(self.given)]
        got = f"got:      {self.got}".replace("\n", f"\n{'':<8}").splitlines()
        return (*given, f"expected: {self.wanted}", *got, *([self.why] if self.why else []))


class Verdict(NamedTuple):
    """A status, the lines that say why, and the difference that they tell of, if it is one of values."""

    status: Status
    lines: tuple[str, ...] = ()
    difference: Difference | None = None


class Case(NamedTuple):
    """Arguments that a function is tried on, and what it should give."""

    args: tuple[Any, ...]
    wanted: Outcome


UNTOUCHED = Verdict(Status.UNTOUCHED)
SOLVED = Verdict(Status.SOLVED)


def not_yet(*lines: str) -> Verdict:
    return Verdict(Status.NOT_YET, lines)


@dataclass(frozen=True, kw_only=True, eq=False)
class Puzzle:
    """One exercise.

    Attributes:
        title: A few words.
        text: What is asked, in Markdown.
        hints: What helps, the least first.
        because: Why the solution is what it is; it stands under the solution.
        wrong: Typical wrong answers, and what to say of each.
        number: Its place among all; given where they are collected.
    """

    title: str
    text: str
    hints: tuple[str, ...]
    because: str
    wrong: Mapping[str, str]
    number: int = 0

    @property
    def name(self) -> str:
        """What the answer is called in a learner's file."""
        raise NotImplementedError  # a Write or a Predict

    @property
    def start(self) -> str:
        """The code that a learner changes."""
        raise NotImplementedError  # a Write or a Predict

    @property
    def solved(self) -> str:
        """The code that `start` becomes."""
        raise NotImplementedError  # a Write or a Predict

    @property
    def given(self) -> str:
        """The program that the text is about; empty where there is none."""
        return ""

    def judge(self, answer: Any, known: Any = None) -> Verdict:
        """The verdict on an answer; `known` is what is right, where that was worked out before."""
        raise NotImplementedError  # a Write or a Predict


@dataclass(frozen=True, kw_only=True, eq=False)
class Write(Puzzle):
    """Write a function.

    Attributes:
        starter: Its first form.
        solution: One of its right forms.
        inputs: The arguments that it is tried on: trees of arrays, and functions.
        loop: What it should give for them, without vmap.
        brands: How many brands it opens at least.  However many, the number must not depend on the size of the batch:
            that is how a Python loop is told from a vmap.  With 0, nothing is asked.
        by: What opens them.
        also: Anything else that is wrong with it, or None.
    """

    starter: str
    solution: str
    inputs: Callable[[], Sequence[tuple[Any, ...]]]
    loop: Callable[..., Any]
    brands: int = 1
    by: str = "a vmap"
    also: Callable[[Callable[..., Any]], str | None] | None = None

    @property
    def name(self) -> str:
        return self.starter.split("def ", 1)[1].partition("(")[0]

    @property
    def start(self) -> str:
        return dedent(self.starter).strip()

    @property
    def solved(self) -> str:
        return dedent(self.solution).strip()

    def cases(self) -> list[Case]:
        """Every input, with what the loop gives for it."""
        found = [(arrays(args), outcome(self.loop, args, as_tensors=False)) for args in self.inputs()]
        return [Case(*each) for each in found]

    def judge(self, answer: Any, known: Sequence[Case] | None = None) -> Verdict:
        """Run a function on every input, and compare it with the loop."""
        if answer is ... or _same_code(answer, self._function(self.starter)):
            return UNTOUCHED
        if not callable(answer):
            return not_yet(f"`{self.name}` is to be a function, and it is {tree.describe(answer)}")
        opened: list[int] = []
        for args, wanted in self.cases() if known is None else known:
            before = Brand(0).number
            got = outcome(answer, args)
            opened.append(Brand(0).number - before - 1)
            if got != wanted:
                return self._differs(args, wanted, got)
        if loop := self._loops(opened):
            return not_yet(loop)
        if self.also is not None and (complaint := self.also(answer)) is not None:
            return not_yet(complaint)
        return SOLVED

    def _function(self, source: str) -> Any:
        return run_source(source)[self.name]

    def _differs(self, args: tuple[Any, ...], wanted: Outcome, got: Outcome) -> Verdict:
        parameters = inspect.signature(self._function(self.starter)).parameters
        given = tuple(f"{name} = {shown(x)}" for name, x in zip(parameters, args, strict=True))
        usual = (why for source, why in self.wrong.items() if outcome(self._function(source), args) == got)
        difference = Difference(given, wanted, got, next(usual, None))
        return Verdict(Status.NOT_YET, difference.lines, difference)

    def _loops(self, opened: list[int]) -> str | None:
        """What is said of right values that were come by without vmap."""
        if min(opened) < self.brands:
            return f"The values are right, but it opened {_brands(min(opened))}: write it with {self.by}."
        if self.brands and len(set(opened)) > 1:
            numbers = ", ".join(map(str, opened))
            return (
                f"The values are right, but it opened {numbers} brands for batches of different sizes: no Python loop."
            )
        return None


@dataclass(frozen=True, kw_only=True, eq=False)
class Predict(Puzzle):
    """Say what a program does.

    Attributes:
        program: The program; every name of `PREAMBLE` is there.
        truth: How the answer is found: by default, it is what the program prints.
        probe: Code that is run after the program, and not shown.
    """

    program: str
    truth: Callable[[Predict], str] = printed
    probe: str = ""

    @property
    def name(self) -> str:
        return f"answer_{self.number}"

    @property
    def start(self) -> str:
        return f"{self.name} = ..."

    @property
    def solved(self) -> str:
        return f"{self.name} = {self.truth(self)!r}"

    @property
    def given(self) -> str:
        return dedent(self.program).strip()

    def judge(self, answer: Any, known: str | None = None) -> Verdict:
        """Compare a prediction with what the program does; the order of brands does not matter."""
        if answer is ...:
            return UNTOUCHED
        try:
            said = str(answer.tolist() if isinstance(answer, Tensor) else answer).strip()
        except Exception:  # of the answer
            said = tree.describe(answer)
        try:
            truth = self.truth(self) if known is None else known
        except Unknown as reason:
            return Verdict(Status.UNKNOWN, (str(reason),))
        if same_prediction(said, truth):
            return SOLVED
        for wrong, why in self.wrong.items():
            if same_prediction(said, wrong):
                return not_yet(f"it is not {one_line(said)}", why)
        return not_yet(f"it is not {one_line(said)}", *what_is_right(said, truth))


def numbers(*shape: int, start: int = 3) -> np.ndarray:
    """An array of small numbers, no two neighbours alike; another `start` gives others."""
    flat = (np.arange(np.prod(shape, dtype=int)) * 7 + start) % 11 - 4
    return (flat / 2).astype(np.float32).reshape(shape)


def _brands(n: int) -> str:
    return "no brand" if n == 0 else "1 brand" if n == 1 else f"{n} brands"


def _same_code(f: Any, g: Any) -> bool:
    """Are two functions the same but for where they stand?"""
    codes = [getattr(inspect.unwrap(x), "__code__", None) if callable(x) else None for x in (f, g)]
    return isinstance(codes[0], CodeType) and _key(codes[0]) == _key(codes[1])


def _key(code: Any) -> Any:
    if not isinstance(code, CodeType):
        return type(code), code
    return code.co_code, code.co_names, code.co_varnames, tuple(map(_key, code.co_consts))
