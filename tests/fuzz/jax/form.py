"""The form of a program, and its text as Python code over a module `m`: `ours` or `theirs`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

DTYPES = {
    "f32": "float32", "f16": "float16", "f64": "float64", "i32": "int32", "u8": "uint8", "bool": "bool", "u32": "uint32"
}  # fmt: skip
FLOATS = ("f32", "f16", "f64")


class Type(NamedTuple):
    shape: tuple[int, ...]
    dtype: str

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def numel(self) -> int:
        return int(np.prod(self.shape))

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(eq=False)
class Var:
    """A value, with the facts that generation needs."""

    name: str
    type: Type
    bits: int | None = None
    """The number of fractional bits; None for a rounded value, which must not reach a discontinuous function."""
    size: float = 3.0
    """A bound for its absolute value; for derivatives, an estimate."""
    row: frozenset[int] = frozenset()
    """The open maps on which it depends."""


@dataclass(eq=False)
class Let:
    """A statement `pattern = text`, where $i is operand i, and @i is function i."""

    targets: list[Var]
    pattern: str
    text: str
    operands: list[Var]
    functions: list[Function] = field(default_factory=list)

    def written(self, names: dict[Var, str], indent: str) -> Iterator[str]:
        for f in self.functions:
            yield from f.written(names, indent)
        left = filled(self.pattern, [t.name for t in self.targets], [])
        right = filled(self.text, [names.get(x, x.name) for x in self.operands], [f.name for f in self.functions])
        yield f"{indent}{left} = {right}"


@dataclass(eq=False)
class Function:
    name: str
    params: list[Var]
    signature: str
    body: list[Let]
    outs: list[Var]
    result: str

    def written(self, names: dict[Var, str], indent: str = "") -> Iterator[str]:
        yield f"{indent}def {self.name}({self.signature}):"
        for let in self.body:
            yield from let.written(names, indent + "    ")
        yield f"{indent}    return {filled(self.result, [names.get(x, x.name) for x in self.outs], [])}"

    def lets(self) -> Iterator[tuple[Function, Let]]:
        """Yield all statements, each followed by the statements of its inner functions."""
        for let in self.body:
            yield self, let
            for f in let.functions:
                yield from f.lets()

    def everything(self) -> set[Var]:
        """Return all values of this function and of its inner functions."""
        found = {*self.params, *self.used()}
        for let in self.body:
            found.update(let.targets, *(f.everything() for f in let.functions))
        return found

    def used(self) -> set[Var]:
        """Return the values that this function and its inner functions use."""
        found = set(self.outs)
        for let in self.body:
            found |= set(let.operands)
            for f in let.functions:
                found |= f.used()
        return found


def filled(text: str, values: list[str], functions: list[str]) -> str:
    def put(match: re.Match[str]) -> str:
        return (values if match[1] == "$" else functions)[int(match[2])]

    return re.sub(r"([$@])(\d+)", put, text)


@dataclass(eq=False)
class Program:
    seed: str
    main: Function
    inputs: list[np.ndarray]
    wrong: str = ""
    """The deliberate mistake that both libraries must reject, or an empty string."""

    def body(self, names: dict[Var, str] | None = None) -> str:
        return "\n".join(self.main.written(names or {}))

    def run(self, m: Any, names: dict[Var, str] | None = None) -> Any:
        scope: dict[str, Any] = {}
        exec(compile(self.body(names), f"<program {self.seed}>", "exec"), scope)
        return m.run(scope["program"], self.inputs)

    def text(self) -> str:
        """Return a file that prints the results of both libraries; run it in the root of the repository."""
        arrays = "".join(f"    {literal(x)},\n" for x in self.inputs)
        return (
            f"# seed {self.seed}\nimport numpy as np\n\n"
            f"from tests.fuzz.jax import ours, theirs\n\n\n{self.body()}\n\n\n"
            f"inputs = [\n{arrays}]\nfor m in (theirs, ours):\n"
            "    print(m.__name__, m.run(program, inputs))\n"
        )


def literal(x: np.ndarray) -> str:
    numbers = np.array2string(x, separator=", ", threshold=10**6, max_line_width=10**6).replace("\n", "")
    if x.size == 0:
        return f'np.zeros({x.shape}, "{x.dtype}")'
    return f'np.array({numbers}, "{x.dtype}")'


def pruned(f: Function) -> None:
    """Remove statements whose results are unused."""
    while True:
        used, before = f.used(), sum(1 for _ in f.lets())
        _prune(f, used)
        if sum(1 for _ in f.lets()) == before:
            return


def _prune(f: Function, used: set[Var]) -> None:
    f.body[:] = [let for let in f.body if not used.isdisjoint(let.targets)]
    for let in f.body:
        for g in let.functions:
            _prune(g, used)
