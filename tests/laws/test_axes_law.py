"""Test that the axes inferred by mypy are those at run time, on random programs.

Each name has a different prime length.  So if mypy infers `Axes[Users, Features]`, the shape has these two lengths;
and if mypy reports an error, the program fails at run time.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from tinygrad import Context

from tests.support.profiles import amount
from tests.support.warm import MYPY, STRICT, warm

LENGTHS = {"Users": 5, "Items": 7, "Features": 11}
HEAD = """\
from tinygrad import Tensor, dtypes
from branded import Brand, all_gather, as_axes, cond, fori_loop, functions, linalg, psum, scan, vmap
from branded import map as each
class Users(Brand): ...
class Items(Brand): ...
class Features(Brand): ...
nothing = None
"""
NAMES: dict[str, Any] = {}
exec(HEAD, NAMES)
PLAIN = "Tensor.ones(11)", "Tensor.ones(5, 11)"

UNARY = (
    "{}.exp()",
    "(-{})",
    "{}.T",
    "{}.transpose(0, 1)",
    "{}.transpose(-1, 0)",
    "{}.permute(1, 0)",
    "{}.permute(2, 0, 1)",
    "{}.sum()",
    "{}.sum(0)",
    "{}.mean(axis=-1)",
    "{}.max(axis=1, keepdim=True)",
    "{}.sum((0, 1))",
    "{}.argmax(0)",
    "{}.argmax(1, keepdim=True)",
    "{}.argmin(keepdim=True)",
    "{}.bitcast(dtypes.int8)",
    "{}.roll(1, 0)",
    "{}.softmax()",
    "{}.softmax(1)",
    "{}.cumsum(axis=0)",
    "{}[0]",
    "{}[:, 1]",
    "{}[None]",
    "{}[..., None]",
    "{}[1:3]",
    "{}[-1, :]",
    "{}[None, :, None]",
    "{}[[0, 2]]",
    "{}[[[0, 2], [1, 0]]]",
    "{}[:, [[0, 2], [1, 0]]]",
    "{}[[0, 2], 1]",
    "{}[nothing]",
    "{}.unsqueeze(0)",
    "{}.unsqueeze(-1)",
    "{}.unsqueeze(1).squeeze(1)",
    "{}.squeeze(0)",
    "{}.flatten()",
    "{}.reshape(-1)",
    "{}.reshape(1, -1)",
    "{}.expand(3, -1)",
    "{}.expand(2, -1, -1)",
    "(2.0 * {} + 1)",
    "({} > 0.5).where(1.0, 0.0)",
    "{}.sort(0)[1]",
    "{}.var_mean(axis=0)[0]",
    "{}.flip(0)",
    "{}.clip(0, 1)",
    "vmap(lambda p: p.sum())({})",
    "vmap(lambda p: p * 2, in_axes=1)({})",
    "vmap(lambda p: p + 1, out_axes=1)({})",
    "vmap(lambda p: p.max(), in_axes=-1)({})",
    "vmap(lambda p: p[None], out_axes=-1)({})",
    'Tensor.einsum("ij->ji", {})',
    "{}.one_hot(3)",
    "scan(lambda c, p: (c + p.sum(), p * 2), 0.0, {})[1]",
    "each(lambda p: p.sum(), {})",
    "vmap(lambda p: psum(p, 'n'), axis_name='n', out_axes=None)({})",
    "vmap(lambda p: all_gather(p, 'n', axis=1), axis_name='n', out_axes=None)({})",
    "linalg.norm({}, axis=0)",
    "linalg.norm({}, axis=-1, keepdims=True)",
    "linalg.norm({})",
    "linalg.pinv({})",
    "linalg.trace({})",
    "functions.median({}, axis=0)",
    "functions.erfinv({})",
)
BINARY = (
    "({} + {})",
    "({} * {})",
    "({} - {})",
    "({} @ {})",
    "{}.dot({})",
    "{}.maximum({})",
    "({} > 0).where({}, 0.0)",
    "{}.stack({})",
    "{}.stack({}, dim=1)",
    "{}.cat({}, dim=0)",
    "{}[({} * 0).int()]",
    "{}.gather(0, ({} * 0).int())",
    "{}.cat({}, dim=-1)",
    "{}.linear({})",
    'Tensor.einsum("ij,j->i", {}, {})',
    'Tensor.einsum("ij,jk->ik", {}, {})',
    'Tensor.einsum("ij,kj->ki", {}, {})',
    'Tensor.einsum("i,j", {}, {})',
    "vmap(lambda p, q: p * q)({}, {})",
    "vmap(lambda p, q: p @ q, in_axes=(0, None))({}, {})",
    "vmap(lambda p, q: p + q, in_axes=(1, 0))({}, {})",
    "vmap(lambda p: vmap(lambda q: p * q)({}))({})",
    "vmap(lambda p: vmap(lambda q: (p * q).sum())({}), out_axes=1)({})",
    "Tensor.stack({}, {}, dim=-1)",
    "scan(lambda c, p: (c * 0.5, c * p), {}, {})[1]",
    "scan(lambda c, p: (p * c, p.sum()), {}, {})[0]",
    "fori_loop(0, 2, lambda i, c: c * {}, {})",
    "cond({}.sum() > 1, lambda: {}, lambda: Tensor(0.0))",
    "functions.logaddexp({}, {})",
)


def tensor(rng: random.Random) -> str:
    if rng.random() < 0.1:
        return rng.choice(PLAIN)
    names = rng.choices(list(LENGTHS), k=rng.choice((1, 1, 2, 2, 2, 3)))
    return f"as_axes(Tensor.ones({', '.join(str(LENGTHS[n]) for n in names)}), {', '.join(names)})"


def program(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return tensor(rng)
    if rng.random() < 0.55:
        return rng.choice(UNARY).format(program(rng, depth - 1))
    return rng.choice(BINARY).format(program(rng, depth - 1), program(rng, rng.randrange(depth)))


def random_programs(n: int, seed: int = 7) -> list[str]:
    rng = random.Random(seed)
    return list(dict.fromkeys(program(rng, rng.choice((1, 1, 2, 2, 3))) for _ in range(n)))


def mypy_output(programs: list[str], folder: Path) -> list[tuple[str, str]]:
    """Return the type that mypy infers for each program, and its error or an empty string."""
    (folder / "drawn.py").write_text(HEAD + "".join(f"reveal_type({p})\n" for p in programs))
    (folder / "mypy.ini").write_text(STRICT)
    warm(folder / ".mypy_cache", MYPY, STRICT)
    command = [*MYPY, "--output", "json", "drawn.py"]
    out = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    types, errors, first = [""] * len(programs), [""] * len(programs), HEAD.count("\n") + 1
    for m in map(json.loads, out.splitlines()):
        i = m["line"] - first
        if m["severity"] == "error":
            errors[i] = errors[i] or m["message"]
        elif found := re.match(r'Revealed type is "(.*)"', m["message"]):
            types[i] = found[1]
    return list(zip(types, errors, strict=True))


def shape_at_run_time(text: str) -> tuple[int, ...] | None:
    """Return the shape of a program's result, or None if it fails."""
    try:
        with Context(NOOPT=1):
            value = eval(text, NAMES)
            return tuple(value.shape)
    except Exception:
        return None


def lengths(t: str) -> list[int | None] | None:
    """Return the length of each axis of a type as mypy prints it."""
    if (found := re.fullmatch(r"branded\.vec\.Axes\[(.*)\]", t)) is None:
        return None
    axes = [] if found[1] == "()" else found[1].split(", ")
    by_name = {f"drawn.{n}": size for n, size in LENGTHS.items()}
    return [by_name.get(a, int(a[8:-1]) if a.startswith("Literal[") else None) for a in axes]


def test_inferred_axes_match_run_time(tmp_path: Path) -> None:
    programs, kinds = random_programs(amount(250, 600)), Counter[str]()
    for program, (t, error) in zip(programs, mypy_output(programs, tmp_path), strict=True):
        shape, claimed = shape_at_run_time(program), lengths(t)
        if error:
            assert shape is None, f"a false alarm: {program}: {error}"
            kinds["error"] += 1
        elif claimed is not None:
            kinds["axes"] += 1
            right = shape is None or (
                len(shape) == len(claimed) and all(n in (None, m) for n, m in zip(claimed, shape, strict=True))
            )
            assert right, f"{program}: {t}, and it is {shape}"
    assert kinds["axes"] > amount(25, 60) and kinds["error"] > amount(25, 60)


def test_inferred_shapes_have_no_false_errors(tmp_path: Path) -> None:
    """If shapes that mypy infers from calls such as `Tensor.ones(5, 11)` do not fit, the program fails at run time."""
    rng = random.Random(11)
    plain = [
        re.sub(r"as_axes\((Tensor\.ones\([^)]*\))[^)]*\)", r"\1", p) for p in random_programs(amount(250, 500), seed=11)
    ]
    chosen = [p for p in dict.fromkeys(plain) if rng.random() < 0.9]
    found = stopped = 0
    for program, (_, error) in zip(chosen, mypy_output(chosen, tmp_path), strict=True):
        shape = shape_at_run_time(program)
        stopped += shape is None
        found += bool(error)
        assert not error or shape is None, f"a false alarm: {program}: {error}"
    assert found > 0.6 * stopped > 20
