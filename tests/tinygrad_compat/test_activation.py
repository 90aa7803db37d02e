"""The changes to tinygrad apply to graphs of branded and to values computed from them, and to nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, TinyJit, dtypes
from tinygrad.uop.ops import Ops, UOp

import branded
from branded import (
    cond,
    fori_loop,
    grad,
    hessian,
    jacrev,
    jit,
    jvp,
    linalg,
    pure_callback,
    random,
    scan,
    switch,
    vjp,
    vmap,
    while_loop,
)
from branded.errors import OptionError
from branded.tinygrad_compat import activation, gates, private_api, result_marks
from tests.support.profiles import amount
from tests.tinygrad_compat import faults

X = Tensor([[4.0, 1.0], [1.0, 3.0]]).realize()
CALLS: dict[str, Callable[[], Any]] = {
    "vmap": lambda: vmap(lambda x: x.sum())(X),
    "vmap in chunks": lambda: vmap(lambda x: x.sum(), chunk_size=1)(X),
    "grad": lambda: grad(lambda x: x.square().sum())(X),
    "jvp": lambda: jvp(lambda x: x * x, (X,), (X,))[1],
    "vjp": lambda: vjp(lambda x: x * x, X)[1](X)[0],
    "jacrev": lambda: jacrev(lambda x: x.sum(0))(X),
    "hessian": lambda: hessian(lambda x: x.square().sum())(X),
    "jit": lambda: jit(lambda x: x + 1)(X),
    "scan": lambda: scan(lambda c, x: (c + x, c), X[0], X)[1],
    "fori_loop": lambda: fori_loop(0, 3, lambda i, x: x + i, X),
    "while_loop": lambda: while_loop(lambda x: x.sum() < 50, lambda x: x * 2, X),
    "cond": lambda: cond(True, lambda x: x * 2, lambda x: x, X),
    "switch": lambda: switch(1, [lambda x: x, lambda x: x * 2], X),
    "linalg": lambda: linalg.cholesky(X),
    "random": lambda: random.normal(random.key(0), (3,)),
    "functions": lambda: branded.median(X),
    "brand": lambda: _by_brand(),
}


def _by_brand() -> Tensor:
    with branded.brand("a", 2) as a:
        return a.unvec(a.vec(X) * 2)


def is_ours(x: Tensor) -> bool:
    return result_marks.is_ours(x.uop)


@pytest.mark.parametrize("name", CALLS)
def test_results_and_derived_values_are_ours(name: str) -> None:
    y = CALLS[name]()
    assert is_ours(y) and is_ours((y + 1).sum())
    z = (y * 3).realize()
    assert is_ours(z) and is_ours(z.reshape(-1)[0])
    assert not is_ours(X) and not is_ours(X + 1.5) and not is_ours(Tensor([1.0]) * 7)


def test_returned_argument_stays_plain() -> None:
    x = Tensor([1.0, 2.0]).realize()
    assert not is_ours(vmap(lambda a: a)(x)) and not is_ours(x)


def test_updated_weight_is_ours() -> None:
    w = Tensor([1.0, 2.0]).realize()
    w.assign(w - 0.1 * grad(lambda w: w.square().sum())(w)).realize()
    assert is_ours(w)
    assert w.tolist() == pytest.approx([0.8, 1.6])


def test_fixes_belong_to_graphs() -> None:
    """A result of branded is computed with the fixes, the same expression in plain tinygrad without."""
    assert (Tensor([3]) ** Tensor([5])).tolist() == [242]
    assert vmap(lambda x: x**5)(Tensor([3])).tolist() == [243]
    assert (vmap(lambda x: x + 1)(Tensor([2])) ** Tensor([5])).tolist() == [243]
    assert (Tensor([3]) ** Tensor([5])).tolist() == [242]
    mapped = vmap(lambda x: x + 1)(Tensor([254, 99], dtype=dtypes.uint8))
    assert (mapped + 1).cast(dtypes.int32).tolist() == [0, 101]
    by_hand = Tensor([255, 99], dtype=dtypes.uint8).realize()
    assert (by_hand + 1).cast(dtypes.int32).tolist() == [256, 100]


def test_gradients_of_plain_programs_keep_no_names() -> None:
    """Constants belong to all graphs: the names of plain gradients would be stored with our kernels."""
    faults.metadata()


def test_other_thread_is_plain_during_a_body() -> None:
    inside, done, found = threading.Event(), threading.Event(), list[Any]()

    def plain() -> None:
        inside.wait()
        found.extend((Tensor([3]) ** Tensor([5])).tolist())
        done.set()

    def body(x: Tensor) -> Tensor:
        inside.set()
        done.wait(60)
        return x**5

    thread = threading.Thread(target=plain)
    thread.start()
    assert vmap(body)(Tensor([3])).tolist() == [243]
    thread.join()
    assert found == [242]


def test_tinyjit_replays_its_capture() -> None:
    for f, right in ((lambda x: vmap(lambda a: a**5)(x), [243]), (lambda x: x ** Tensor([5]), [242])):
        captured = TinyJit(lambda x, f=f: f(x).realize())
        assert [captured(Tensor([3]).realize()).tolist() for _ in range(4)] == [right] * 4


def test_replay_replaces_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay compiles nothing; replacing the rules of kernels would take as long as a small kernel."""
    switched: list[bool] = []
    half = vmap(lambda row: row.sum() / 2)
    switch_names = activation._replace_scoped_names

    def noted(to_ours: bool) -> None:
        switched.append(to_ours)
        switch_names(to_ours)

    compiled = TinyJit(lambda x: vmap(lambda row: row.sum() + 1)(x).realize())
    for _ in range(3):
        compiled(X)
        half(X).realize()
    monkeypatch.setattr(activation, "_replace_scoped_names", noted)
    captured, realized = compiled(X), half(X).realize()
    assert True not in switched
    assert captured.tolist() == [6.0, 5.0]
    assert realized.tolist() == [2.5, 2.0]


def test_replay_compiles_what_a_callback_computes() -> None:
    """A function of the host runs within a replay, and may compute a value of ours, or a plain one."""

    def doubled(x: np.ndarray) -> np.ndarray:
        ours = vmap(lambda row: (row * 2).sum())(Tensor(x)).numpy()
        plain = (Tensor(x) * 2).sum(1).numpy()
        return np.asarray(ours + plain, np.float32)

    compiled = TinyJit(lambda x: pure_callback(doubled, Tensor.empty(2), x).realize())
    for _ in range(4):
        np.testing.assert_allclose(compiled(X).numpy(), [20.0, 16.0])


@pytest.mark.parametrize("feature", ["fixes", "cpu"])
def test_enable_serves_plain_programs(feature: str) -> None:
    def source() -> str:
        Tensor(np.ones((3, 1013), np.float32)).realize().sum(1).realize()
        programs = private_api.codegen.to_program_cache.values()
        sources = [u.arg for p in programs for u in p.src if u.op is Ops.SOURCE]
        return [text for text in sources if "r_3_1013" in text][-1]

    try:
        branded.enable(feature)
        assert (Tensor([3]) ** Tensor([5])).tolist() == [243]
        assert ("reassociate" in source()) == (feature == "cpu")
    finally:
        activation.disable()
    assert (Tensor([3]) ** Tensor([5])).tolist() == [242]


def test_enable_rejects_unknown_features() -> None:
    with pytest.raises(OptionError, match="there is no feature 'gpu'"):
        branded.enable("cpu", "gpu")
    assert not gates.enabled


@pytest.mark.parametrize("words", [["-c", "{}"], ["-m", "branded", "run", "FILE"]])
def test_enable_by_environment_and_command(words: list[str], tmp_path: Any) -> None:
    file = tmp_path / "app.py"
    program = "from tinygrad import Tensor\nimport branded\nprint((Tensor([3]) ** Tensor([5])).tolist())\n"
    file.write_text(program)
    words = [{"{}": program, "FILE": str(file)}.get(word, word) for word in words]
    env = {**os.environ, "BRANDED_ENABLE": "fixes" if "-c" in words else ""}
    out = subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, check=True)
    assert out.stdout == "[243]\n"


def test_plain_program_before_the_import() -> None:
    """tinygrad compiles a rule at its first use, with the functions that it names at that time."""
    program = """
from tinygrad import Tensor
x = Tensor([3]).realize()
print((x ** Tensor([5])).tolist(), x.sum().item())
from branded import scan, vmap
print(vmap(lambda x: x**5)(x).tolist(), scan(lambda c, x: (c + x, c), Tensor(0), Tensor([1, 2, 3]))[1].tolist())
"""
    words = [sys.executable, "-W", "error::RuntimeWarning", "-c", program]
    out = subprocess.run(words, capture_output=True, text=True, check=True)
    assert out.stdout == "[242] 3\n[243] [0, 1, 3]\n"


def test_queued_kernels_run_in_order() -> None:
    """With HCQ2=1, kernels of the CPU wait in a queue: matrix products, sorts and loops must not overtake them."""
    rounds = range(1, amount(2, 3))
    program = f"""
import numpy as np
from tinygrad import Tensor
from branded import jit, scan, vmap
a, b = np.random.default_rng(0).random((2, 64, 64)).astype("float32")
A, B = Tensor(a).realize(), Tensor(b).realize()
for i in {rounds}:
    y = vmap(lambda x: (x * i + 1))(A) @ B @ A.T
    assert np.allclose(y.numpy(), (a * i + 1) @ b @ a.T, rtol=1e-3), i
    z = vmap(lambda x: ((x + i) @ B).sort()[0])(A)
    assert np.allclose(z.numpy(), np.sort((a + i) @ b, 1), rtol=1e-3), i
    s = scan(lambda c, x: (c + x, c @ B), A[0] + i, A)[1]
    c = np.cumsum(np.concatenate([a[:1] + i, a[:-1]]), 0)
    assert np.allclose(s.numpy(), c @ b, rtol=1e-3), i
    assert np.allclose(jit(lambda x: (x + 1) @ B)((A * i).contiguous()).numpy(), (a * i + 1) @ b, rtol=1e-3), i
# temporaries of two dtypes
t = jit(lambda x: (x * 9).int().contiguous().float().sort()[0].contiguous() + x)(A)
assert np.allclose(t.numpy(), np.sort((a * 9).astype("int32"), 1) + a)
"""
    env = {**os.environ, "HCQ2": "1", "DEV": "CPU", "CACHELEVEL": "0"}
    out = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr


def test_snapshot_reads_each_owner_once() -> None:
    """The names of drivers are 150,000, and most classes are names of many modules: both took 0.25 s."""
    owners = [owner for owner, _ in activation._snapshot(activation._modules()).values()]
    assert private_api.ops in owners and Tensor in owners
    assert not [o for o in owners if (getattr(o, "__module__", None) or o.__name__).startswith("tinygrad.runtime.auto")]
    assert len(set(map(id, owners))) == len(owners)


def test_graphs_of_this_package_are_checked_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = private_api.spec
    wrong = UOp(Ops.ADD, dtypes.float32, (UOp.const(1, dtypes.int32), UOp.const(2.0, dtypes.float32)))
    monkeypatch.delenv("SPEC", raising=False)
    with activation.running_block():
        spec.type_verify([wrong], spec.spec_program)
        monkeypatch.setenv("SPEC", "1")
        with pytest.raises(RuntimeError, match="UOp verification failed"):
            spec.type_verify([wrong], spec.spec_program)
    monkeypatch.delenv("SPEC")
    with pytest.raises(RuntimeError, match="UOp verification failed"):  # a plain program
        spec.type_verify([wrong], spec.spec_program)


@pytest.mark.parametrize("name", ["old", "new"])
def test_record_finds_replaced_and_new_names(name: str) -> None:
    module: Any = ModuleType("tinygrad.recorded")
    module.old, module.other = (lambda: "plain"), 1

    def install() -> None:
        setattr(module, name, lambda: "ours")

    activation.record(install, [module])
    assert module.old() == "plain"  # outside of our code
    with activation.running_block():
        assert getattr(module, name)() == "ours"
