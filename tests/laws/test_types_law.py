"""Test on generated programs that the brands inferred by mypy are the brands of the value at run time."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tinygrad import Context, Tensor

import branded
from branded import brands
from tests.support.warm import MYPY, STRICT, warm

PROGRAMS = 150
HEAD = """\
from tinygrad import Tensor
from branded import all_gather, axis_index, cond, fori_loop, grad, pmean, ppermute, psum, scan, vmap

x, y, w = Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0]), Tensor(0.5)
"""
DEEP = "vmap(lambda p1: {}p1{})(x)".format(20 * "p1 + (p1 * (", 20 * ").cos())")
"""Nested operands: without caching of contexts, mypy would check this expression for days."""
Rows = dict[int, set[str]]
PLAIN = (*range(11), 15, 18, 18)
ALL = (*range(19), 7, 7, 7, 7, 7, 9, 9, 9, 18, 18)
"""Indices of the kinds of expressions; probes and vmaps are more frequent."""
PROBE = re.compile(r"probe\[(\d+)\]")


class Writer:
    """Write one program: an expression of scalars per example, with some probes, each on a line of its own.

    Right operands and arguments contain no probes: mypy checks these repeatedly, and would report the note of
    `reveal_type` there as an error.
    """

    def __init__(self, seed: int) -> None:
        self.random, self.names, self.probes = random.Random(seed), 0, 0
        self.is_plain, self.is_probed = False, True
        self.open: list[str] = []
        """The open brands, which have the names of the parameters that they map."""

    def name(self) -> str:
        self.names += 1
        return f"p{self.names}"

    @contextmanager
    def opened(self, name: str) -> Iterator[None]:
        self.open.append(name)
        yield
        self.open.pop()

    def body(self, scope: tuple[str, ...], depth: int) -> str:
        """Write an expression with no transforms except vmap and cond."""
        before, self.is_plain = self.is_plain, True
        out = self.operand(scope, depth)
        self.is_plain = before
        return out

    def brand(self) -> str:
        return self.random.choice(self.open)

    def program(self) -> str:
        p = self.name()
        with self.opened(p):
            return f"vmap(lambda {p}: {self.scalar((p,), 6)}, axis_name='{p}')(x)"

    def operand(self, scope: tuple[str, ...], depth: int) -> str:
        """Write an expression without probes: mypy's time would double with each nested sum on the right."""
        before, self.is_probed = self.is_probed, False
        out = self.scalar(scope, max(depth, 0))
        self.is_probed = before
        return out

    def scalar(self, scope: tuple[str, ...], depth: int) -> str:
        """Write an expression of 0-d tensors with the names of the scope."""
        if depth == 0 or self.random.random() < 0.1:
            return self.random.choice([*scope, *scope, "w"])
        match self.random.choice(PLAIN if self.is_plain else ALL):
            case 0:
                return f"({self.scalar(scope, depth - 1)}).exp()"
            case 1:
                return f"(-({self.scalar(scope, depth - 1)}))"
            case 2:
                operator = self.random.choice("+-*")
                return f"({self.scalar(scope, depth - 1)} {operator} {self.operand(scope, depth - 1)})"
            case 3:
                return f"(2 * ({self.operand(scope, depth - 1)}) - 1.5)"
            case 4:
                test = f"({self.scalar(scope, depth - 1)}) > ({self.operand(scope, depth - 2)})"
                return f"({test}).where(({self.operand(scope, 0)}), 0.5)"
            case 5:
                return f"({self.scalar(scope, depth - 1)}).maximum({self.operand(scope, 1)})"
            case 6:
                more = f"{self.operand(scope, 1)}, {self.operand(scope, 0)}"
                return f"({self.scalar(scope, depth - 1)}).stack({more}).sum()"
            case 7 | 8 if not self.is_probed:
                return self.operand(scope, depth - 1)
            case 7 | 8:  # mypy reports it on the line where the expression begins
                self.probes += 1
                return f"\nprobe[{self.probes - 1}](w + ({self.operand(scope, depth - 1)}))\n"
            case 9 | 10:
                p = self.name()
                with self.opened(p):
                    body = self.scalar((*scope, p), depth - 1)
                return f"vmap(lambda {p}: {body}, axis_name='{p}')({self.vector(scope)}).sum()"
            case 11:
                reduced = self.random.choice(["psum({}, {!r})", "pmean({}, {!r})", "all_gather({}, {!r}).sum()"])
                return reduced.format(self.operand(scope, depth - 1), self.brand())
            case 12:
                return f"ppermute({self.operand(scope, depth - 1)}, {self.brand()!r}, [(0, 1)])"
            case 13:
                return f"(axis_index({self.brand()!r}) * ({self.operand(scope, depth - 1)}))"
            case 14:
                q = self.name()
                body = self.body((*scope, q), depth - 1)
                return f"grad(lambda {q}: ({q} * {q} * ({body})).exp())({self.random.choice(scope)})"
            case 15:  # the predicate is batched, or else only one branch would run
                test = f"({self.brand()} + ({self.operand(scope, 1)})) > 0"
                one, other = self.operand(scope, depth - 2), self.operand(scope, depth - 2)
                return f"cond({test}, lambda: ({one}).exp(), lambda: 2 * ({other}))"
            case 16:
                c, q = self.name(), self.name()
                body = self.body((*scope, c, q), depth - 2)
                step = f"lambda {c}, {q}: ({c} + {q} * ({body}), None)"
                return f"scan({step}, {self.operand(scope, 1)}, {self.vector(scope)})[0]"
            case 17:
                i, c = self.name(), self.name()
                body = self.body((*scope, c), depth - 2)
                return f"fori_loop(0, 2, lambda {i}, {c}: {c} * 0.5 + {i} * ({body}), {self.operand(scope, 1)})"
            case _:
                p, q = self.name(), self.name()
                axes = self.random.choice(["(0, None)", "[0, None]"])
                shared = self.operand(scope, depth - 1)
                with self.opened(p):
                    body = self.scalar((*scope, p, q), depth - 1)
                options = f"in_axes={axes}, axis_name='{p}'"
                return f"vmap(lambda {p}, {q}: {body}, {options})({self.vector(scope)}, {shared}).sum()"

    def vector(self, scope: tuple[str, ...]) -> str:
        """Write a 1-d tensor to map over, batched or not."""
        own = [f"({s} * x)" for s in scope]
        return self.random.choice(["x", "y", *own])


def programs() -> Iterator[str]:
    for seed in range(PROGRAMS):
        yield Writer(seed).program()
    yield DEEP


def static_rows(texts: list[str], folder: Path) -> list[Rows]:
    """Return the brands that mypy infers at each probe of each program."""
    lines, where = HEAD.splitlines(), {}
    for i, text in enumerate(texts):
        for line in f"z{i}: Tensor = (\n{text}\n)".splitlines():
            if probe := PROBE.search(line):
                where[len(lines) + 1] = (i, int(probe[1]))
            lines.append(PROBE.sub("reveal_type", line))
    (folder / "generated.py").write_text("\n".join(lines) + "\n")
    (folder / "mypy.ini").write_text(STRICT)
    warm(folder / ".mypy_cache", MYPY, STRICT)
    command = [*MYPY, "--output=json", "generated.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=400)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert not done.stderr
    assert [m for m in said if m["severity"] == "error"] == []
    rows: list[Rows] = [{} for _ in texts]
    for m in said:
        row = re.search(r"Vec\[(.*?), ", m["message"])
        i, k = where[m["line"]]
        rows[i][k] = set(row[1].split(" | ")) if row else set()
    return rows


def dynamic_rows(text: str) -> Rows:
    """Return the brands at each probe of a program when it runs."""
    rows: Rows = {}

    def probe(k: int) -> Any:
        def look(x: Tensor) -> Tensor:
            rows[k] = {b.name for b in brands(x)}
            return x

        return look

    names: dict[str, Any] = {}
    exec(HEAD, names)
    with Context(NOOPT=1):
        eval(PROBE.sub(r"probe(\1)", f"(\n{text}\n)"), names | {"probe": probe, "vmap": branded.vmap})
    return rows


def test_inferred_brands_match_run_time(tmp_path: Path) -> None:
    texts = list(programs())
    static = static_rows(texts, tmp_path)
    probed = sum(map(len, static))
    assert probed > 50, "the programs say too little"
    assert max(len(row) for rows in static for row in rows.values()) >= 3, "they are not deep enough"
    for text, rows in zip(texts, static, strict=True):
        assert rows == dynamic_rows(text), text


@pytest.mark.parametrize("seed", [0, 1])
def test_programs_differ(seed: int) -> None:
    assert Writer(seed).program() != Writer(seed + 2).program()
