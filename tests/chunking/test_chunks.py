"""Chunks that fit a memory limit, show progress, and resume after an interrupt."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import pty
import random
import signal
import subprocess
import sys
import termios
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.device import Buffer
from tinygrad.helpers import Context, GlobalCounters

from branded import errors, grad, io_callback, jit, psum, pure_callback, scan, vmap
from branded import random as keys
from branded.chunking.device_memory import free
from branded.core.chunks import as_limit
from branded.tinygrad_compat import private_api
from tests.errors.test_errors import Golden, check, params
from tests.support.by_numpy import read
from tests.support.examples import in_memory
from tests.support.profiles import pairs

ROOT = Path(__file__).parents[2]
X = Tensor(np.random.default_rng(0).normal(size=(60, 32)).astype("f")).realize()


@pytest.fixture(autouse=True)
def plain_kernels() -> Iterator[None]:
    """Turn off kernel optimization, which changes neither the number of kernels nor the buffers."""
    with Context(NOOPT=1):
        yield


def square(a: Tensor) -> Tensor:
    """A function with two intermediate values of 4 kB."""
    return ((a.reshape(32, 1) * a).contiguous().sin().contiguous() * 2).sum(0)


@pytest.fixture
def peak_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[], Tensor]], int]]:
    """Return a function that measures peak buffer memory during a run, above the level before it."""
    allocate, most = Buffer.allocate, [0]

    def allocated(buffer: Buffer, *args: Any, **kwargs: Any) -> Buffer:
        out = allocate(buffer, *args, **kwargs)
        most[0] = max(most[0], GlobalCounters.mem_used)
        return out

    def of(run: Callable[[], Tensor]) -> int:
        most[0] = before = GlobalCounters.mem_used
        run().realize()
        return most[0] - before

    monkeypatch.setattr(Buffer, "allocate", allocated)
    yield of


# ---- automatic chunk size ----


def test_auto_makes_fewest_fitting_chunks(peak_memory: Callable[[Callable[[], Tensor]], int]) -> None:
    limit = 100_000
    fitting = vmap(square, chunk_size="auto", memory_limit=limit)
    assert 0.7 * limit < peak_memory(lambda: fitting(X)) <= limit
    count = _count(fitting, X)
    assert count > 2
    # the joined results count as if they were in memory at the same time as a chunk
    assert peak_memory(lambda: vmap(square, chunk_size=-(-60 // (count - 2)))(X)) > limit
    np.testing.assert_allclose(fitting(X).numpy(), vmap(square)(X).numpy(), rtol=1e-5, atol=1e-5)


def _count(f: Callable[..., Tensor], *args: Tensor) -> int:
    """Return the number of chunks of a call."""
    graph = f(*args).uop.toposort(enter_calls=False)
    return max(1, sum(u.op.name == "FUNCTION" for u in graph))


def test_fitting_batch_is_one_chunk() -> None:
    assert (
        _count(vmap(square, chunk_size="auto"), X)
        == 1
        == _count(vmap(square, chunk_size="auto", memory_limit="1GB"), X)
    )


@pytest.mark.by_numpy
def test_auto_chunks_in_jit_vmap_and_grad() -> None:
    wanted, options = vmap(square)(X).numpy(), {"chunk_size": "auto", "memory_limit": "100kB"}
    np.testing.assert_allclose(jit(vmap(square, **options))(X).numpy(), wanted, rtol=1e-5, atol=1e-5)
    table = lambda **how: vmap(lambda a: vmap(lambda b: (a * b).sum(), **how)(X))(X).numpy()  # noqa: E731
    np.testing.assert_allclose(table(chunk_size="auto", memory_limit="30kB"), table(), rtol=1e-4, atol=1e-4)
    slope = lambda **how: grad(lambda x: vmap(square, **how)(x).sum())(X).numpy()  # noqa: E731
    np.testing.assert_allclose(slope(**options), slope(), rtol=1e-4, atol=1e-4)


@pytest.mark.by_numpy
def test_dry_run_has_no_side_effects() -> None:
    draw = vmap(lambda a: square(a) + Tensor.rand(32), randomness="different", chunk_size="auto", memory_limit="100kB")
    seen: list[float] = []
    by_hand = vmap(lambda a: square(a) + Tensor.rand(32), randomness="different", chunk_size=7)
    for f in (draw, by_hand):
        Tensor.manual_seed(3)
        seen.append(f(X).sum().item())
    assert seen[0] == pytest.approx(seen[1], rel=1e-5)
    calls: list[float] = []

    def f(a: Tensor) -> Tensor:
        io_callback(lambda v: calls.append(float(v)), None, a[0])
        return square(a)

    vmap(f, chunk_size="auto", memory_limit="100kB")(X).realize()
    assert len(calls) == 60


def test_parsing_of_memory_limits() -> None:
    given = [5, "5", "2GB", "1.5 kB", "1 MiB", "2g", "3kib"]
    assert [as_limit(x) for x in given] == [5, 5, 2 * 10**9, 1500, 1 << 20, 2 * 10**9, 3 << 10]
    assert 10**6 < free("CPU") < 10**14


ERRORS = {
    "it does not fit": Golden(
        lambda: vmap(
            lambda a: vmap(lambda b: (a * b).contiguous().sum())(X).sum(), chunk_size="auto", memory_limit=5000
        )(X),
        errors.MemoryLimitError,
        """
        vmap: one example alone needs 8.4 kB
          limit:   5 kB
          results: 240 B for all 60 examples, and as much again for the chunks
          between: 7.68 kB
          call:    vmap at app.py:12
          inner:   `b` has 60 examples, vmap at app.py:12
          try:     use chunk_size="auto" with this memory_limit for `b`, or raise memory_limit""",
    ),
    "the results do not fit": Golden(
        lambda: vmap(lambda a: a * 2, chunk_size="auto", memory_limit="4kB")(X),
        errors.MemoryLimitError,
        """
        vmap: one example alone needs 23.04 kB
          limit:   4 kB
          results: 7.68 kB for all 60 examples, and as much again for the chunks
          between: 0 B
          call:    vmap at app.py:12
          try:     reduce the results in the function, call it on parts of the batch, or raise memory_limit""",
    ),
    "a limit": Golden(
        lambda: vmap(square, chunk_size="auto", memory_limit="much"),
        errors.OptionError,
        """
        memory_limit: 'much' is not a memory size
          try: pass bytes as an int, or "2GB\"""",
    ),
    "no auto": Golden(
        lambda: vmap(square, memory_limit=5),
        errors.OptionError,
        """
        memory_limit: chunk_size is missing
          try: chunk_size="auto\"""",
    ),
    "a size": Golden(
        lambda: vmap(square, chunk_size="half"),  # type: ignore[call-overload]
        errors.OptionError,
        """
        chunk_size: 'half' is not a size
          try: pass "auto" or an int of 1 or more""",
    ),
    "progress": Golden(
        lambda: vmap(square, progress=True),
        errors.OptionError,
        """
        progress: there are no chunks
          try: add chunk_size=1000""",
    ),
    "a bar": Golden(
        lambda: scan(lambda c, x: (c, x), X[0], X, progress=1),  # type: ignore[call-overload]
        errors.OptionError,
        """
        progress: 1 is not a choice
          try: pass True or False""",
    ),
    "a directory": Golden(
        lambda: vmap(square, chunk_size=5, save=3),  # type: ignore[call-overload]
        errors.OptionError,
        """
        save: 3 is not a directory
          try: save="run\"""",
    ),
    "saved in a program": Golden(
        lambda: jit(vmap(square, chunk_size=5, save=f"{os.devnull}/run"))(X),
        errors.OptionError,
        """
        save: this call is traced by a program or a derivative, so there is no result to save
          try: move vmap outside: vmap(jit(f), chunk_size=..., save=...)""",
    ),
}


@params(ERRORS)
def test_messages(g: Golden) -> None:
    check(g)


# ---- progress ----


def run_with_bars() -> None:
    xs = Tensor.ones(40, 8).contiguous()
    f = lambda a: (a * 2).sum()  # noqa: E731
    assert vmap(f, chunk_size=10, progress=True)(xs).tolist() == vmap(f)(xs).tolist()
    g = lambda c, x: (c + x, c * x)  # noqa: E731
    a, b = (scan(g, xs[0], xs, progress=p) for p in (True, False))
    assert [t.tolist() for t in a] == [t.tolist() for t in b]


def on_a_terminal(run: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the text that `run` writes to stderr when stderr is a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))  # tqdm shows no bar in a window without columns
    parts = list[bytes]()

    def listen() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 4096):
                parts.append(part)

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        with os.fdopen(theirs, "w") as terminal, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", terminal)
            run()
    finally:
        listener.join()
        os.close(ours)
    return b"".join(parts).decode()


@pytest.mark.parametrize("hidden", [(), ("tqdm",)], ids=str)
def test_progress_bar_on_terminal(hidden: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    if find("tqdm") is not None:
        monkeypatch.setattr("tqdm.tqdm.monitor_interval", 0)  # otherwise tqdm's monitor thread stays alive
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *at: None if name in hidden else find(name, *at))
    shown = on_a_terminal(run_with_bars, monkeypatch)
    assert "vmap" in shown and "scan" in shown and "40/40" in shown.replace(" ", "")


def test_progress_bar_in_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook has no terminal, but tqdm shows a bar there."""
    made = list[dict[str, object]]()

    @contextlib.contextmanager
    def tqdm(**options: object) -> Iterator[types.SimpleNamespace]:
        made.append(options)
        yield types.SimpleNamespace(update=lambda n: None)

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *at: name == "tqdm" or find(name, *at))
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=tqdm))
    run_with_bars()
    assert [options["desc"] for options in made] == ["vmap", "scan"]


def test_no_bar_elsewhere(capfd: pytest.CaptureFixture[str]) -> None:
    run_with_bars()
    assert capfd.readouterr() == ("", "")


@pytest.mark.by_numpy
def test_scan_with_bar_matches_scan() -> None:
    xs = Tensor(np.random.default_rng(1).normal(size=(107, 5)).astype("f"))
    step = lambda c, x: ((c * 0.9 + x).tanh(), c.sum())  # noqa: E731
    for options in ({}, {"reverse": True}, {"unroll": 4}):
        shown, plain = (scan(step, xs[0], xs, progress=p, **options) for p in (True, False))
        for a, b in zip(shown, plain, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    slope = grad(lambda c: scan(step, c, xs, progress=True)[0].sum())(xs[0])
    np.testing.assert_array_equal(slope.numpy(), grad(lambda c: scan(step, c, xs)[0].sum())(xs[0]).numpy())
    assert scan(lambda c, _: (c + 1.5, None), 0, length=0, progress=True)[0].item() == 0


# ---- saved runs ----

W = Tensor(np.random.default_rng(2).normal(size=(32, 32)).astype("f")).realize()


def model(a: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    return (W @ a).tanh(), {"sum": (a * 2).sum(), "sign": a > 0}


def numbers(x: Any) -> list[np.ndarray]:
    first, rest = x
    return [first.numpy(), rest["sum"].numpy(), rest["sign"].numpy()]


def same(a: Any, b: Any) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(numbers(a), numbers(b), strict=True))


def normals(*shape: int) -> Tensor:
    return in_memory(np.random.default_rng(3).normal(size=shape).astype("f"))


MAPPED: dict[str, tuple[Callable[[int], Tensor], int]] = {
    "in memory": (lambda n: normals(n, 8), 0),
    "unaligned rows": (lambda n: normals(n, 3), 0),
    "along the last axis": (lambda n: normals(8, n), 1),
    "transposed": (lambda n: normals(8, n).T, 0),
    "unrealized": (lambda n: normals(n, 8).sin(), 0),
    "without a buffer": (lambda n: Tensor.arange(n).reshape(n, 1), 0),
}


@pytest.mark.enabled("cpu")
@pytest.mark.parametrize(("name", "is_drawn"), pairs(MAPPED, [False, True]))
def test_one_kernel_serves_all_chunks(name: str, is_drawn: bool, tmp_path: Path) -> None:
    """A long run neither compiles nor keeps one program per chunk."""
    made, axis = MAPPED[name]

    def programs(count: int, save: Path | None) -> int:
        xs, number = made(5 * count + 2), random.random()  # the last chunk is shorter

        def f(a: Tensor) -> Tensor:
            return (a * number).sin().sum() + (Tensor.rand(()) if is_drawn else 0)

        before = len(private_api.codegen.to_program_cache)
        Tensor.manual_seed(1)
        ys = vmap(f, axis, chunk_size=5, progress=save is None, save=save, randomness="different")(xs)
        found = len(private_api.codegen.to_program_cache) - before
        Tensor.manual_seed(1)
        assert np.allclose(read(ys), read(vmap(f, axis, randomness="different")(xs)), atol=1e-5)
        return found

    for save in (None, tmp_path):
        few, many = (programs(n, save and save / str(n)) for n in (2, 6))
        assert 0 < many <= few


@pytest.mark.by_numpy
def test_saved_chunks_are_not_recomputed(tmp_path: Path) -> None:
    at, calls = tmp_path / "run", list[int]()

    def f(a: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        calls.append(1)
        return model(a)

    run = vmap(f, out_axes=(-1, 0), chunk_size=7, save=at)
    first = run(X)
    assert len(calls) == 1 + 9 and len(list(at.glob("*.safetensors"))) == 9
    assert same(first, vmap(model, out_axes=(-1, 0), chunk_size=7)(X))
    assert same(run(X), first) and len(calls) == 1 + 9 + 1
    (at / "chunk-000003.safetensors").write_bytes(b"torn")  # like a disk failure
    (at / "chunk-000008.safetensors").unlink()
    assert same(run(X), first) and len(calls) == 1 + 9 + 1 + 1 + 2


@pytest.mark.by_numpy
@pytest.mark.parametrize(
    ("what", "run"),
    [
        ("in chunks of 7, not of 8", lambda at: vmap(model, chunk_size=8, save=at)(X)),
        ("of 60 examples, not of 50", lambda at: vmap(model, chunk_size=7, save=at)(X[:50])),
        ("of another function", lambda at: vmap(lambda a: (model(a)[0] * 2, model(a)[1]), chunk_size=7, save=at)(X)),
        ("of other arguments", lambda at: vmap(model, chunk_size=7, save=at)(X * 2)),
    ],
)
def test_saved_results_of_other_run_are_an_error(what: str, run: Callable[[Path], Any], tmp_path: Path) -> None:
    vmap(model, chunk_size=7, save=tmp_path)(X)
    with pytest.raises(errors.SavedError, match=what):
        run(tmp_path)


@pytest.mark.by_numpy
def test_changed_weights_make_a_new_run(tmp_path: Path) -> None:
    def mapped(w: Tensor, by: float, at: str) -> list[float]:
        host = lambda x: x * by  # noqa: E731
        f = lambda a: (pure_callback(host, a, a, vmap_method="expand_dims") * w).sum()  # noqa: E731
        return list(vmap(f, chunk_size=30, save=tmp_path / at)(X).tolist())

    for at in ("a", "b"):
        wanted = mapped((W[0] * 1).realize(), 2.0, at)
        assert mapped((W[0] * 1).realize(), 2.0, at) == wanted
    with pytest.raises(errors.SavedError, match="other values"):
        mapped((W[0] * 3).realize(), 2.0, "a")
    with pytest.raises(errors.SavedError, match="another function"):
        mapped((W[0] * 1).realize(), 3.0, "b")


@pytest.mark.parametrize("name", ["half", "bfloat16", "bool", "long"])
def test_results_of_any_dtype_are_saved(name: str, tmp_path: Path) -> None:
    run = vmap(lambda a: (getattr(a, name)(), Tensor(2.5), 3, a), chunk_size=25, save=tmp_path)
    first, again = run(X), run(X)
    assert again[0].dtype == getattr(X, name)().dtype and (first[0] == again[0]).all().item()
    assert again[1].tolist() == [2.5] * 60 and again[2].tolist() == [3] * 60 and again[3].tolist() == X.tolist()


def test_collective_works_if_auto_makes_one_chunk() -> None:
    total = vmap(lambda a: psum(a, "i"), axis_name="i", chunk_size="auto", memory_limit="1MB")
    np.testing.assert_allclose(total(X).numpy()[7], X.sum(0).numpy(), rtol=1e-5, atol=1e-5)


def test_unwritable_save_path_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.SavedError, match="cannot be used"):
        vmap(model, chunk_size=7, save=tmp_path / "file")(X)


LONG = """
import time
import types
import numpy as np
from tinygrad import Tensor
from branded import scan, vmap, random
X = random.split(random.key(7), 60)
def member(key):
    w = random.normal(key, (24, 24)) / 5
    return scan(lambda c, _: ((w @ c).tanh(), c.sum()), random.normal(key, (24,)), length=20)
def f(key):
    time.sleep(pause)
    return member(key)
last, sums = vmap(f, chunk_size=4, save=at)(X)
np.savez(out, last=last.numpy(), sums=sums.numpy())
"""


def test_killed_run_resumes(tmp_path: Path) -> None:
    rng, at, out = random.Random(time.time_ns()), tmp_path / "run", tmp_path / "out.npz"

    def run(at: Path, out: Path, pause: float) -> None:
        exec(LONG, {"at": str(at), "out": str(out), "pause": pause})

    def done() -> int:
        return len(list(at.glob("chunk-*.safetensors")))

    undisturbed = tmp_path / "undisturbed.npz"
    run(tmp_path / "another", undisturbed, 0)  # compiles the kernels for the runs below
    kills = list[int]()
    for target in (rng.randint(1, 5), rng.randint(6, 11)):
        if (child := os.fork()) == 0:
            try:
                run(at, out, 0.04)
            finally:
                os._exit(1)
        deadline = time.monotonic() + 120
        while done() < target and os.waitpid(child, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(rng.random() * 0.05)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        kills.append(done())
        assert not out.exists()
    assert 0 < kills[0] <= kills[1] < 15, kills
    before = {p: p.stat().st_mtime_ns for p in at.glob("chunk-*")}
    # a new process resumes the same run
    given = f"at, out, pause = {str(at)!r}, {str(out)!r}, 0\n"
    subprocess.run([sys.executable, "-c", given + LONG], cwd=ROOT, env={**os.environ, "NOOPT": "1"}, check=True)
    assert all(p.stat().st_mtime_ns == t for p, t in before.items()) and done() == 15
    a, b = np.load(out), np.load(undisturbed)
    assert all(np.array_equal(a[k], b[k]) for k in ("last", "sums"))
    assert json.loads((at / "run.json").read_text())["size"] == 60


@pytest.mark.by_numpy
def test_random_keys_resume(tmp_path: Path) -> None:
    draw = vmap(lambda k: keys.normal(k, (3,)), chunk_size=2, save=tmp_path)
    ks = keys.split(keys.key(1), 6)
    assert draw(ks).tolist() == draw(ks).tolist() == vmap(lambda k: keys.normal(k, (3,)))(ks).tolist()
