"""`checkpoint` keeps values and derivatives and saves memory; nested loops save memory too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor

import branded
from branded import checkpoint, errors, grad, hessian, jacfwd, jit, jvp, make_expr, psum, scan, value_and_grad, vmap
from tests.support.by_numpy import read

pytestmark = pytest.mark.by_numpy

RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> Tensor:
    return Tensor(RANDOM.standard_normal(shape).astype(np.float32)).realize()


W, X = floats(3, 3), floats(2, 5, 3)


def layer(w: Any, x: Any) -> Any:
    for _ in range(3):
        x = (x @ w).tanh() + x.max()
    return x


PROGRAMS: dict[str, Callable[[Callable[[Any, Any], Any]], Any]] = {
    "value": lambda f: vmap(lambda x: f(W, x))(X),
    "grad": lambda f: grad(lambda w: f(w, X[0]).square().sum())(W),
    "vmap of grad": lambda f: vmap(lambda x: grad(lambda w: f(w, x).sum())(W))(X),
    "grad of vmap": lambda f: grad(lambda w: vmap(lambda x: f(w, x))(X).square().sum())(W),
    "forward": lambda f: jvp(lambda w: f(w, X[0]), (W,), (W,))[1],
    "second order": lambda f: hessian(lambda x: f(W, x).square().sum())(X[0, 0]),
    "forward over reverse": lambda f: jacfwd(grad(lambda x: f(W, x).square().sum()))(X[0, 0]),
    "closed-over argument": lambda f: grad(lambda w: checkpoint(lambda x: f(w, x))(X[0]).sum())(W),
    "in a scan": lambda f: grad(lambda w: scan(lambda c, x: (f(w, c) + x, None), X[0, 0], X[0])[0].sum())(W),
    "around a scan": lambda f: grad(
        lambda w: checkpoint(lambda x: scan(lambda c, v: (f(w, c) + v, None), x[0], x)[0])(X[0]).sum()
    )(W),
    "nested calls": lambda f: grad(lambda w: checkpoint(lambda x: f(w, f(w, x)))(X[0]).square().sum())(W),
    "collective": lambda f: vmap(grad(lambda x: psum(f(W, x).sum(), "i")), axis_name="i")(X),
}


@pytest.mark.parametrize("policy", ["nothing", "dots", "everything"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives_are_unchanged(name: str, policy: str) -> None:
    program = PROGRAMS[name]
    got, wanted = program(checkpoint(layer, policy=policy)), program(layer)
    np.testing.assert_allclose(read(got), read(wanted), rtol=1e-4, atol=1e-5)


def test_pytrees_keywords_and_non_tensors() -> None:
    def f(p: Any, how: str, *, scale: float) -> Any:
        return {"out": p["w"] * scale, "how": how, "none": None}

    def loss(p: Any) -> Any:
        out = checkpoint(f)(p, "well", scale=3.0)
        assert out["how"] == "well" and out["none"] is None
        return out["out"].sum()

    value, slope = value_and_grad(loss)({"w": Tensor([1.0, 2.0]), "b": Tensor(1.0)})
    assert value.item() == 9 and slope["w"].tolist() == [3, 3] and slope["b"].item() == 0


def scratch_bytes(f: Callable[..., Any], *args: Any) -> int:
    """Return the scratch bytes that the kernels of `jit(f)` use."""
    fast = jit(f)
    with Context(NOOPT=1):
        fast(*args)
    (program,) = fast._programs.values()
    return int(program.run.run.scratch.nbytes)


def deep_gradient(f: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def loss(w: Any, x: Any) -> Any:
        for _ in range(5):
            x = f(w, x)
        return x.square().sum()

    return grad(loss)


def test_checkpoint_saves_memory() -> None:
    """Reverse mode keeps 5 layer inputs and the 4 products of the layer it recomputes, instead of all 20 products."""

    def products(w: Any, x: Any) -> Any:
        for _ in range(4):
            x = (x @ w).tanh()
        return x

    w, x = floats(16, 16), floats(512, 16)
    every = {
        p: scratch_bytes(deep_gradient(checkpoint(products, policy=p)), w, x) for p in ("nothing", "dots", "everything")
    }
    assert every["nothing"] < 0.6 * every["everything"], every
    assert every["dots"] > 0.9 * every["everything"], every
    closed_over = scratch_bytes(deep_gradient(lambda w, x: checkpoint(lambda x: products(w, x))(x)), w, x)
    assert closed_over < 0.6 * every["everything"]


def test_nested_scan_needs_square_root_memory() -> None:
    """Reverse mode keeps one carry per step: 64 for the flat loop, 8 + 8 for the nested loop."""
    w, first, xs = floats(8, 8), floats(64, 8), floats(64, 8)

    def step(w: Any) -> Any:
        return lambda h, x: ((h @ w + x).tanh(), None)

    flat = grad(lambda w: scan(step(w), first, xs)[0].square().sum())
    blocks = xs.reshape(8, 8, 8)
    nested = grad(lambda w: scan(lambda h, block: scan(step(w), h, block), first, blocks)[0].square().sum())
    np.testing.assert_allclose(flat(w).numpy(), nested(w).numpy(), rtol=1e-3, atol=1e-4)
    assert scratch_bytes(nested, w) < 0.5 * scratch_bytes(flat, w)


def test_make_expr_inlines_checkpoint() -> None:
    assert str(make_expr(checkpoint(layer))(W, X[0])) == str(make_expr(layer)(W, X[0]))


def test_names() -> None:
    assert branded.remat is checkpoint and checkpoint(layer).__name__ == "layer"
    assert checkpoint(layer, policy="everything") is layer


def test_error_messages() -> None:
    with pytest.raises(errors.OptionError) as e:
        checkpoint(layer, policy="some")
    assert str(e.value) == (
        'checkpoint: there is no policy \'some\'\n  try: policy="nothing" or policy="dots" or policy="everything"'
    )
    with pytest.raises(errors.CallError, match="checkpoint: the int 3 is not a function"):
        checkpoint(3)
    with pytest.raises(errors.CallError, match="checkpoint"):
        checkpoint(layer)(W)
    kept: list[Any] = []
    vmap(lambda x: kept.append(x) or x)(X)
    with pytest.raises(errors.EscapeError):
        checkpoint(lambda x: x)(kept[0])
