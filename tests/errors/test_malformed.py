"""Test calls with invalid arguments: each message has the same form, and no call changes the global state."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.tensor import _METADATA

import branded
from branded import cli, random, vmap
from branded.core.tracing import recording
from branded.core.tracing.state import is_differentiating
from branded.errors import BrandedError, SizeError
from branded.graph.scope import open_brands
from tests.malformed import (
    Command,
    Row,
    blocks,
    bodies,
    brands,
    control,
    derivatives,
    draws,
    exchanges,
    functions,
    learning,
    mapping,
    packages,
    programs,
)
from tests.malformed.commands import COMMANDS, folder

TABLES = (
    mapping,
    bodies,
    brands,
    derivatives,
    control,
    exchanges,
    draws,
    functions,
    packages,
    programs,
    learning,
    blocks,
)
ROWS: tuple[Row, ...] = tuple(row for table in TABLES for row in table.ROWS)


def state() -> tuple[Any, ...]:
    """Return the global state that a failed call must restore."""
    return open_brands(), is_differentiating(), recording.is_recording(), list(sys.path), list(sys.argv), Path.cwd()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_call(row: Row) -> None:
    before = state()
    _METADATA.set(None)  # tinygrad keeps the name of a method that raised
    if row.error is None:
        got = row.call()
        assert type(got) is type(row.value)
        assert got == row.value
    else:
        with pytest.raises(BrandedError) as info:
            row.call()
        first, *facts = str(info.value).split("\n")
        assert (type(info.value), first) == (row.error, row.says)
        assert re.match(r"[^:]+: .", first)
        assert all(re.fullmatch(r"  \S.*: +\S.*", line) for line in facts), "a label, a colon, and what is so"
        assert str(info.value).replace("\n", "").isprintable()
        assert not re.search(r"UOp|Ops\.|<class|object at 0x", str(info.value)), "words of the inside"
    assert state() == before


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: " ".join(c.words)[:60].encode("unicode_escape").decode())
def test_command(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    before, said = state(), io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = cli.main(command.words)
    assert status == command.status
    lines = said.getvalue().splitlines()
    if status == cli.MISUSED:
        assert len(lines) == 1, "one line"
    assert said.getvalue().startswith(command.says)
    assert not any(str(Path(branded.__file__).parent) in line for line in lines), "no line of ours in a traceback"
    assert state() == before


WHOLE: dict[str, str] = {
    "vmap: a list that contains itself": """
        tree: a list contains itself
          try: use a container that does not contain itself
        """,
    "vmap: a function of too few parameters": """
        vmap: one() takes 1 positional argument but 2 were given
          given: Vec[x:3, f32[2]], Vec[x:3, f32[2]]
          try:   pass a function with one parameter per argument
        """,
    "cond: the other branch of too many parameters, which is not taken": """
        cond: false_fun: missing a required argument: 'y'
          given: f32[3]
          try:   give every branch one parameter per operand
        """,
    "vmap: axis_size: 10^30": """
        axis_size: 1000000000000000000000000000000 is more than a tensor can have
          try: pass an int below 2**63
        """,
    "vmap: an array of long doubles": """
        in_axes: argument 1 is numpy float128[3], not a tensor
          call: vmap at app.py:12
          try:  x.astype("float64")
        """,
    "body: x + a tensor of torch": """
        add: a Tensor of torch is not a tensor or a number
          try: Tensor(numpy.asarray(x))
        """,
    "body: x + a list": """
        add: a list is not a tensor or a number
          try: Tensor([1.0, 2.0])
        """,
    "body: Tensor([x, x])": """
        Tensor: list(Vec[x:3, f32[]], Vec[x:3, f32[]]) contains tensors, which have no numbers yet
          try: Tensor.stack(x, x)
        """,
    "body: numpy.exp(x)": """
        numpy.exp: Vec[x:3, f32[2]] cannot be read by numpy
          try: x.exp(...), the method of Tensor
        """,
    "body: an array += x": """
        numpy.add: Vec[x:3, f32[]] cannot be read by numpy, or write into an array
          try: write `a = a + x` instead of `a += x`
        """,
    "jit: static_argnums of strings": """
        jit: static_argnums=('x',) is not a list of positions
          try: give ints, counted from 0: static_argnums=(1,)
        """,
    "jit: a number": """
        jit: the int 3 is not a function
          try: jit(f)(x)
        """,
    "stack_module_state: numbers": """
        stack_module_state: the int 1 is not a module
          try: pass objects whose attributes are tensors
        """,
    "split: by 10^21": """
        split: 1000000000000000000000 are more than a tensor can have
          try: use fewer than 2**63 elements
        """,
    "Brand: a negative size": """
        Brand: -1 is not a size
          try: pass an int of 0 or more
        """,
    "register_pytree_node: flatten gives a number": """
        register_pytree_node: flatten of an Own returned the int 3, not a pair
          try: return a pair: (children, aux)
        """,
}
"""The full message of one mistake of each kind."""


@pytest.mark.parametrize("name", WHOLE)
def test_full_message(name: str) -> None:
    _METADATA.set(None)
    with pytest.raises(BrandedError) as info:
        next(row for row in ROWS if row.name == name).call()
    assert re.sub(r"at \w+\.py:\d+", "at app.py:12", str(info.value)) == textwrap.dedent(WHOLE[name]).strip()


def test_copied_error_keeps_message() -> None:
    mistake = SizeError("a\nb: c", ("left", "1"), fix="2")
    for again in (pickle.loads(pickle.dumps(mistake)), copy.copy(mistake)):
        assert type(again) is SizeError
        assert str(again) == str(mistake) == "a\\nb: c\n  left: 1\n  try:  2"


def test_valid_lists_and_dtypes() -> None:
    """Lists as values of writes and dtypes are valid, though they are neither tensors nor numbers."""

    def write(x: Tensor) -> Tensor:
        x = x * 1
        x[0:2] = [7.0, 8.0]
        return x.dot(x, dtypes.float32)

    assert vmap(write)(Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist() == [113.0, 113.0]


def test_plain_tensors_keep_errors_of_tinygrad() -> None:
    """Outside of transformed functions, tinygrad raises its own errors; if it stops, remove the patch `operands`."""
    x, a = Tensor([1.0, 2.0]), np.ones(2, dtype=np.float32)
    with pytest.raises(RuntimeError, match="Could not infer dtype"):
        x + a  # type: ignore[operator]
    with pytest.raises(RuntimeError, match="Could not infer dtype"):
        Tensor([x, x])  # type: ignore[list-item]
    both = a + x
    assert isinstance(both, np.ndarray) and both.dtype == object
    assert [t.item() for t in both] == [2.0, 3.0]
    assert np.sum(a) == 2 and isinstance(np.stack([x, x]), np.ndarray)  # type: ignore[call-overload]


def test_every_function_and_command_has_rows() -> None:
    """Every public function and every command has rows, and there are at least 300 rows."""
    begun = {row.name.partition(":")[0] for row in ROWS}
    types = {"Axes", "BrandedError", "Vec", "random", "static"}
    assert set(branded.__all__) - types - begun == set()
    assert set(random.__all__) - begun == set()
    assert {"dask.vmap", "on_arrays"} <= begun
    assert set(cli.COMMANDS) - {command.words[0] for command in COMMANDS if command.words} == set()
    assert len({row.name for row in ROWS}) == len(ROWS) >= 300
    kinds = [sum(row.error is not None for row in ROWS), sum(row.error is None for row in ROWS), len(COMMANDS)]
    page = (Path(__file__).parents[2] / "docs" / "trust.md").read_text()
    assert "{} are mistakes, {} are correct calls, and {} are commands".format(*kinds) in " ".join(page.split())
