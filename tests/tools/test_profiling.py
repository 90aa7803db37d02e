"""Check the kernels and lines that `profile` reports, and the number of runs of each kernel, but no times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tinygrad import Context, Tensor, nn

from branded import cli, grad, jit, scan, vmap, while_loop
from branded.backends.cpu.runtime import native
from branded.tools.profile import Peak, Profile, Timed, profile
from tests.support.examples import normals


def shape(found: Profile) -> list[tuple[str, int, int]]:
    """Return the kind of each kernel, its number of runs, and the number of loops around it."""
    return [(k.name.split("_")[0].split(" ")[0], k.runs, k.depth) for k in found.kernels]


def lines(found: Profile) -> dict[str, int]:
    return {line.code: sum(not k.depth for k in line.kernels) for line in found.lines}


def head(x: Tensor, w: Tensor) -> Tensor:
    y = (x @ w).tanh()
    z = y.transpose(0, 1)
    return z.softmax()


X, W = normals(4, 32, 32), normals(32, 32)


def test_kernels_and_lines_of_a_mapped_function() -> None:
    found = profile(vmap(head, (0, None)), X, W)
    assert shape(found)[0] == ("product", 1, 0) and all(k.seconds > 0 for k in found.kernels)
    assert found.kernels[0].flops == 2 * 4 * 32**3 and found.kernels[0].bytes == 4 * (2 * 4 * 32 * 32 + 32 * 32)
    counts = lines(found)
    assert list(counts) == ["y = (x @ w).tanh()", "return z.softmax()"], "what moves numbers alone takes no time"
    assert counts["y = (x @ w).tanh()"] == 2
    assert found.seconds == sum(k.seconds for k in found.kernels)


def test_lines_reuse_results_in_memory() -> None:
    def f(x: Tensor) -> Tensor:
        y = x @ x
        return y.transpose(0, 1) + 1

    first, second = profile(f, W).lines
    assert [k.name[:2] for line in (first, second) for k in line.kernels] == ["pr", "E_"], "no product in the second"


def test_lines_with_python_numbers() -> None:
    """Numbers have no memory and no kernel of their own; a selection among them has both."""

    def f(x: Tensor) -> Tensor:
        two = Tensor(2.0)
        k = Tensor.arange(32)
        m = x.mean()
        w = (x > m).where(1.0, 0.0)
        return x * k.float() * w * two

    counts = lines(profile(f, W))
    assert counts["w = (x > m).where(1.0, 0.0)"] == counts["return x * k.float() * w * two"] == 1
    assert counts.get("two = Tensor(2.0)", 0) == counts.get("k = Tensor.arange(32)", 0) == 0
    assert len(profile(lambda x: (Tensor(2.0), Tensor.arange(3), (x > 0).where(1, 0)), W).kernels) == 3


def test_compiled_function() -> None:
    assert shape(profile(jit(vmap(head, (0, None))), X, W)) == shape(profile(vmap(head, (0, None)), X, W))


def test_lines_of_a_derivative() -> None:
    def loss(w: Tensor) -> Tensor:
        y = X.reshape(128, 32) @ w
        return y.square().sum()

    found = profile(grad(loss), W)
    assert shape(found) == [("product", 1, 0)] * 2
    assert lines(found) == {"y = X.reshape(128, 32) @ w": 1}, "the loss itself is not worked out"


def test_writes_into_tensors_from_outside() -> None:
    total, steps = Tensor.zeros(32, 32).contiguous().realize(), Tensor.zeros(1).contiguous().realize()

    def step(x: Tensor) -> Tensor:
        steps.assign(steps + 1)
        total.assign(total + vmap(lambda v: v * 2)(x))
        return x.sum()

    counts = lines(profile(step, W))
    assert [counts[line] > 0 for line in counts] == [True] * 3, "the writes are measured, too"
    assert total.sum().item() == steps.item() == 0


def test_kernels_of_nested_scans() -> None:
    def rnn(h: Tensor, xs: Tensor) -> Tensor:
        def row(h: Tensor, x: Tensor) -> tuple[Tensor, None]:
            return scan(lambda h, _: ((h * x).sin(), None), h, None, length=3)[0], None

        return scan(row, h, xs)[0]

    found = shape(profile(rnn, Tensor.rand(8), Tensor.rand(5, 8)))
    assert found[:4] == [("scan", 1, 0), ("E", 5, 1), ("scan", 5, 1), ("E", 15, 2)]


def test_kernel_of_a_step_runs_once_per_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads one entry of the inputs per step, and once wrote past the end of the results."""
    lengths: list[int] = []
    original = native.Plan.__init__

    def noted(self: native.Plan, table: native.Table) -> None:
        if any(isinstance(op, native.KernelCall) and op.step >= 0 for op in table.ops):
            lengths.append(table.length)
        lengths.extend(t.length for op in table.ops if isinstance(op, native.Inner) for t in op.turns)
        original(self, table)

    monkeypatch.setattr(native.Plan, "__init__", noted)
    found = profile(lambda xs: scan(lambda c, x: (c + x, c * x), Tensor.zeros(4), xs)[1], Tensor.rand(5, 4).realize())
    assert {k.runs for k in found.kernels if k.depth} == set(lengths) == {5}


def test_kernels_of_a_while_loop() -> None:
    found = profile(lambda x: while_loop(lambda s: s < 100, lambda s: s * 2 + 1, x), Tensor([3.0])[0])
    whole = next(k for k in found.kernels if k.name.startswith("while_loop"))
    assert whole.name == "while_loop of 5 steps"
    assert [k.runs for k in found.kernels if k.depth] == [6, 5], "the test once more than the step"


def test_no_kernels() -> None:
    assert profile(lambda x: x.reshape(2, 2), Tensor.ones(4).clone()).kernels == []
    assert profile(lambda x: x + 1, Tensor.zeros(0, 3)).kernels == []
    assert str(profile(lambda: 3)) == "no kernels: the function computes no tensor"


def test_function_that_reads_values() -> None:
    def halve(x: Tensor) -> Tensor:
        while x.sum().item() > 1:
            x = x / 2
        return x

    found = profile(halve, Tensor.ones(4).contiguous().realize())
    assert found.reads and lines(found) == {"while x.sum().item() > 1:": 6}
    assert len(found.kernels) == 7, "the last one computes the result"
    assert "line that reads a value" in str(found)


def test_training_step_keeps_its_weights() -> None:
    w = Tensor.ones(32, 4).contiguous().realize()
    opt = nn.optim.SGD([w], lr=0.5)

    def step(x: Tensor) -> float:
        with Context(TRAINING=1):
            opt.zero_grad()
            loss = (x @ w).square().mean()
            loss.backward()
            opt.step()
        return float(loss.item())

    found = profile(step, W)
    assert [*lines(found)] == ["opt.step()", "return float(loss.item())"]
    assert w.tolist() == [[1.0] * 4] * 32
    assert step(W) > step(W), "after the profile, steps change the weights as usual"


def test_compiled_function_in_a_function_that_reads() -> None:
    double = jit(lambda x: x * 2)
    found = profile(lambda x: double(x).sum().item(), X)
    assert shape(found)[0] == ("r", 1, 0), "the kernels of the compiled function are part of the profile"
    assert profile(double, X).kernels


def test_read_of_a_value_from_outside() -> None:
    total = W.sum()
    found = profile(lambda x: x * total.item(), X)
    assert list(lines(found)) == ["found = profile(lambda x: x * total.item(), X)"]


def test_on_another_device() -> None:
    found = profile(lambda x: (x * 2).sum(), Tensor([1.0, 2.0, 3.0], device="PYTHON"))
    assert [(k.runs, k.depth) for k in found.kernels] == [(1, 0)]


def test_printed_table() -> None:
    kernels = [
        Timed("scan of 2 steps", 2e-3, 1, 4e6, 0),
        Timed("r_4", 1e-3, 2, 4e6, 2e6, 1),
        Timed("E_4", 2e-6, 1, 0, 8),
    ]
    text = str(Profile(kernels, [], profile(lambda x: x + 1, Tensor([1.0])).peak._replace(flops=1e10, bytes=1e9)))
    rows = [line.split() for line in text.splitlines()]
    assert rows[0] == ["2.00", "ms", "in", "2", "kernels"]
    assert rows[4] == ["scan", "of", "2", "steps", "1", "2.00", "ms", "100%", "2.0", "(", "20%)"]
    assert rows[5] == ["r_4", "2", "1.00", "ms", "50%", "4.0", "(", "40%)", "2.0", "(200%)"]
    assert rows[6] == ["E_4", "1", "2.0", "µs", "0%", "0.0", "(", "0%)"]


@pytest.fixture
def app(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text("from tinygrad import Tensor\ndef f(x=Tensor.ones(3)):\n    return (x * 2).sin()\n")
    return path


def test_command(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["profile", f"{app}:f"]) == 0
    out = capsys.readouterr().out
    assert f"{app}\n     3  return (x * 2).sin()" in out and "GFLOPS" in out
    assert cli.main(["profile", f"{app}:f", "--args", "Tensor.ones(4, 5)"]) == 0
    assert "in 1 kernel\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "says"), [("", "which function of"), (":g", "there is no function `g`"), (":Tensor", "Tensor")]
)
def test_misuse(app: Path, target: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["profile", f"{app}{target}"]) in (1, 2)
    err: Any = capsys.readouterr().err
    assert says in err and "Traceback" not in err


def test_results_other_than_tensors_are_ignored() -> None:
    def summary(x: Tensor) -> dict[str, object]:
        return {"sum": x.sum(), "name": "x", "none": None, "rows": [x * 2, 3]}

    assert len(profile(summary, W).kernels) == 2


def test_host_callback_is_named() -> None:
    assert "host callback: sort" in str(profile(vmap(lambda r: r.sort()[0]), W))


def test_short_times_are_in_nanoseconds() -> None:
    kernel = Timed("E_3", 12e-9, 1, 3, 12)
    text = str(Profile([kernel], [], Peak(1e9, 1e9)))
    assert text.startswith("12 ns in 1 kernel\n")


def test_closed_pipe_ends_the_command_silently(app: Path) -> None:
    command = [sys.executable, "-m", "branded", "profile", f"{app}:f"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1
