"""The kinds of puzzles: the question, the expected answer, and the code that judges an answer.

A `Write` asks for a function, and compares it with a loop over the examples.  A `Predict` asks for the behavior of a
program, and runs the program to find the answer, which is not stored.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent
from types import CodeType
from typing import Any, NamedTuple

from branded import tree
from branded.core.brand import Brand
from branded.errors import one_line
from branded.ir import Eqn, Program, make_expr
from branded.learn.puzzles.outcome import Array, Outcome, arrays, outcome, value_text
from branded.learn.puzzles.truth import Unknown, program_output, run_source, same_prediction, what_is_right
from branded.tinygrad_compat.lazy_numpy import np

__all__ = ["Predict", "Puzzle", "Status", "Verdict", "Write", "numbers"]


class Status(enum.Enum):
    """The status of an answer."""

    SOLVED = "solved"
    NOT_YET = "not yet"
    UNTOUCHED = "untouched"
    UNKNOWN = "cannot tell"


class Difference(NamedTuple):
    """The first input with a wrong result: the arguments, the expected and actual results, and the usual cause."""

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
    """A status, the lines that explain it, and the difference that they describe, if a result is wrong."""

    status: Status
    lines: tuple[str, ...] = ()
    difference: Difference | None = None


class Case(NamedTuple):
    """Arguments on which a function is tried, and the expected outcome."""

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
        text: The question, in Markdown.
        hints: The hints, from least to most helpful.
        because: The explanation that is printed below the solution.
        wrong: Typical wrong answers, each with the reply to it.
        number: The position among all puzzles; set when they are collected.
    """

    title: str
    text: str
    hints: tuple[str, ...]
    because: str
    wrong: Mapping[str, str]
    number: int = 0

    @property
    def name(self) -> str:
        """The name of the answer in a learner's file."""
        raise NotImplementedError  # a Write or a Predict

    @property
    def start(self) -> str:
        """The code that a learner changes."""
        raise NotImplementedError  # a Write or a Predict

    @property
    def solved(self) -> str:
        """The code of `start` with the solution."""
        raise NotImplementedError  # a Write or a Predict

    @property
    def given(self) -> str:
        """The program that the text is about; empty if there is none."""
        return ""

    def judge(self, answer: Any, known: Any = None) -> Verdict:
        """Return the verdict on an answer; `known` is the expected result, if it was computed before."""
        raise NotImplementedError  # a Write or a Predict


@dataclass(frozen=True, kw_only=True, eq=False)
class Write(Puzzle):
    """A puzzle that asks for a function.

    Attributes:
        starter: The code that the learner starts from.
        solution: One of the correct solutions.
        inputs: Returns the arguments on which an answer is tried: trees of arrays, and functions.
        loop: The same function as a loop, without vmap.
        brands: The smallest number of brands that an answer must open, and that one of its steps must vary over.  The
            number must not depend on the batch size, unlike for a Python loop.  With 0, brands are not checked.
        only_one: Whether an answer may open only one brand.
        by: The transform that opens the brands.
        uses: Requirements of the text that values do not show: names of operations, or axes such as `in_axes=1`.
        also: Returns another complaint about an answer, or None.
    """

    starter: str
    solution: str
    inputs: Callable[[], Sequence[tuple[Any, ...]]]
    loop: Callable[..., Any]
    brands: int = 1
    only_one: bool = False
    by: str = "a vmap"
    uses: tuple[str, ...] = ()
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
        """Return every input with the result of the loop."""
        found = [(arrays(args), outcome(self.loop, args, as_tensors=False)) for args in self.inputs()]
        return [Case(*each) for each in found]

    def judge(self, answer: Any, known: Sequence[Case] | None = None) -> Verdict:
        """Run a function on every input, and compare it with the loop."""
        if answer is ... or _same_code(answer, self._function(self.starter)):
            return UNTOUCHED
        if not callable(answer):
            return not_yet(f"`{self.name}` is to be a function, and it is {tree.describe(answer)}")
        opened: list[int] = []
        cases = self.cases() if known is None else known
        for args, wanted in cases:
            before = Brand(0).number
            got = outcome(answer, args)
            opened.append(Brand(0).number - before - 1)
            if got != wanted:
                return self._differs(args, wanted, got)
        if loop := self._loops(opened):
            return not_yet(loop)
        if (self.brands or self.uses) and (missing := self._missing(answer, cases[0].args)):
            return not_yet(missing)
        if self.also is not None and (complaint := self.also(answer)) is not None:
            return not_yet(complaint)
        return SOLVED

    def _function(self, source: str) -> Any:
        return run_source(source)[self.name]

    def _differs(self, args: tuple[Any, ...], wanted: Outcome, got: Outcome) -> Verdict:
        parameters = inspect.signature(self._function(self.starter)).parameters
        given = tuple(f"{name} = {value_text(x)}" for name, x in zip(parameters, args, strict=True))
        usual = (why for source, why in self.wrong.items() if outcome(self._function(source), args) == got)
        difference = Difference(given, wanted, got, next(usual, None) or self._not_a_tensor(wanted, got))
        return Verdict(Status.NOT_YET, difference.lines, difference)

    def _not_a_tensor(self, wanted: Outcome, got: Outcome) -> str | None:
        """Return the complaint about a result that is not a tensor, where a tensor is expected, or None."""
        if got.error is not None or not isinstance(wanted.value, Array):
            return None
        if got.value is None:
            return f"`{self.name}` returns None: is a `return` missing?"
        if isinstance(got.value, list | tuple):
            return f"Return a tensor, not a {type(got.value).__name__}."
        return None

    def _missing(self, answer: Callable[..., Any], given: tuple[Any, ...]) -> str | None:
        """Return the complaint about correct values that were computed by other means, or None."""
        args = tree.map(lambda x: x.tensor() if isinstance(x, Array) else x, given)
        fixed = [i for i, x in enumerate(args) if callable(x) or isinstance(x, int)]
        try:
            eqns = [*_equations(make_expr(answer, static_argnums=fixed)(*args).program)]
        except Exception:  # the answer cannot be traced, most often because it reads a value
            eqns = []
        steps = (x for e in eqns if e.op not in ("enter", "leave") for x in e.results)
        if max((len(x.type.row) for x in steps), default=0) < self.brands:
            return f"The values are right, but they are computed outside of the vmap: write it with {self.by}."
        done = {(e.op, None) for e in eqns} | {(e.op, e.params.get("axis")) for e in eqns}
        missing = [name for name in self.uses if _AXES.get(name, (name, None)) not in done]
        return f"The values are right, but they are not computed by `{missing[0]}`." if missing else None

    def _loops(self, opened: list[int]) -> str | None:
        """Return the complaint about correct values that were computed without vmap, or None."""
        if min(opened) < self.brands:
            return f"The values are right, but it opened {_brands(min(opened))}: write it with {self.by}."
        if self.brands and len(set(opened)) > 1:
            numbers = ", ".join(map(str, opened))
            return (
                f"The values are right, but it opened {numbers} brands for batches of different sizes: no Python loop."
            )
        if self.only_one and max(opened) > 1:
            return f"The values are right, but it opened {_brands(max(opened))}: one vmap is enough."
        return None


@dataclass(frozen=True, kw_only=True, eq=False)
class Predict(Puzzle):
    """A puzzle that asks for the behavior of a program.

    Attributes:
        program: The program; it can use every name of `PREAMBLE`.
        truth: Finds the answer; by default, the output of the program.
        probe: Code that runs after the program and is not shown.
    """

    program: str
    truth: Callable[[Predict], str] = program_output
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
        """Compare a prediction with the behavior of the program; the order of brands does not matter."""
        if answer is ...:
            return UNTOUCHED
        said, quotes = _prediction(answer)
        try:
            truth = self.truth(self) if known is None else known
        except Unknown as reason:
            return Verdict(Status.UNKNOWN, (str(reason),))
        if same_prediction(said, truth):
            return SOLVED
        for wrong, why in self.wrong.items():
            if same_prediction(said, wrong):
                return not_yet(f"it is not {one_line(said)}", why)
        return not_yet(f"it is not {one_line(said)}", *(quotes or what_is_right(said, truth)))


def _prediction(answer: Any) -> tuple[str, list[str]]:
    """Return a prediction as text, and a line about it if it was not written as text or numbers."""
    if isinstance(answer, list | tuple) and len(answer) == 1 and isinstance(answer[0], str):
        answer = answer[0]
    if isinstance(answer, type):  # `Tensor` without quotes
        return answer.__name__, []
    try:
        said = str(answer.tolist() if hasattr(answer, "tolist") else answer).strip()
    except Exception:  # an error of the answer
        return tree.describe(answer), ["Write the prediction as text, in quotes."]
    written = isinstance(answer, str | int | float | tuple | list | set) or hasattr(answer, "tolist")
    return said, [] if written else ["Write the prediction as text, in quotes."]


def numbers(*shape: int, start: int = 3) -> np.ndarray:
    """Return an array of small numbers without equal neighbors; another `start` gives other numbers."""
    flat = (np.arange(np.prod(shape, dtype=int)) * 7 + start) % 11 - 4
    return (flat / 2).astype(np.float32).reshape(shape)


_AXES = {"in_axes=1": ("enter", 1), "out_axes=1": ("leave", 1)}
"""The step of a program, and its axis, that shows the use of `in_axes` or `out_axes`."""


def _equations(program: Program) -> Iterator[Eqn]:
    for e in program.eqns:
        yield e
        for inner in e.programs():
            yield from _equations(inner)


def _brands(n: int) -> str:
    return "no brand" if n == 0 else "1 brand" if n == 1 else f"{n} brands"


def _same_code(f: Any, g: Any) -> bool:
    """Return whether two functions have the same code, apart from its position in a file."""
    codes = [getattr(inspect.unwrap(x), "__code__", None) if callable(x) else None for x in (f, g)]
    return isinstance(codes[0], CodeType) and _key(codes[0]) == _key(codes[1])


def _key(code: Any) -> Any:
    if not isinstance(code, CodeType):
        return type(code), code
    return code.co_code, code.co_names, code.co_varnames, tuple(map(_key, code.co_consts))
