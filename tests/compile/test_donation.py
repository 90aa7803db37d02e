"""Donated arguments: results reuse their memory where that is safe, and they cannot be used afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import grad, jit, vmap
from branded.compile.linear_program import address_of
from branded.errors import EscapeError, OptionError


def floats(*values: float) -> Tensor:
    return Tensor(np.array(values, dtype=np.float32)).realize()


def address(t: Tensor) -> int:
    return address_of(t.uop)


SAFE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "entry by entry": lambda x, y: x * 2 - y,
    "used twice": lambda x, y: x * x.exp() + y,
    "used before": lambda x, y: y * x.sum().contiguous(),
    "another shape": lambda x, y: (x + 1).reshape(2, 2),
    "not used": lambda x, y: y + 1,
}
UNSAFE: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "flip": lambda x, y: x.flip(0) + y,
    "summed": lambda x, y: x.sum() + y,
    "roll": lambda x, y: x[1:].cat(x[:1]) + y,
    "used by a later kernel": lambda x, y: (y + 1, (x.flip(0) * y).sum()),
    "other size": lambda x, y: x[:2] + y[:2],
}


@pytest.mark.parametrize("name", [*SAFE, *UNSAFE])
def test_result_reuses_donated_memory_if_safe(name: str) -> None:
    f = (SAFE | UNSAFE)[name]
    step = jit(f, donate_argnums=0)
    y = floats(1, 2, 3, 4)
    for i in range(3):
        x = floats(i, 5, -1, 2)
        before, wanted = address(x), f(x, y)
        wanted = [t.numpy() for t in (wanted if isinstance(wanted, tuple) else (wanted,))]
        x = floats(i, 5, -1, 2)
        before = address(x)
        out = step(x, y)
        outs = out if isinstance(out, tuple) else (out,)
        for a, b in zip(outs, wanted, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-6)
        if name in SAFE:
            assert address(outs[0]) == before
        if name in UNSAFE and name != "used by a later kernel":
            assert before not in map(address, outs)
        assert y.tolist() == [1, 2, 3, 4]


HOLD: dict[str, Callable[[Tensor], Any]] = {
    "another tensor": lambda x: x.reshape(2, 2).reshape(4),
    "a view": lambda x: x[1:],
    "lazy": lambda x: x + 0,
}


@pytest.mark.parametrize("name", HOLD)
@pytest.mark.parametrize("made_by", ["hand", "jit"])
def test_donation_keeps_memory_with_other_owners(name: str, made_by: str) -> None:
    make, step = jit(lambda x: x * 1), jit(lambda x: x + 10, donate_argnums=0)
    for _ in range(3):
        x = floats(1, 2, 3, 4)
        x = make(x) if made_by == "jit" else x
        held = HOLD[name](x)
        out = step(x)
        assert out.tolist() == [11, 12, 13, 14]
        assert held.numpy().ravel().tolist()[-3:] == [2, 3, 4]
        y = floats(1, 2)
        both = jit(lambda a, b: a + b * 2, donate_argnums=0)(y, y)
        assert both.tolist() == [3, 6]


def test_training_state_keeps_its_address() -> None:
    def loss(w: dict[str, Tensor], x: Tensor) -> Tensor:
        return ((x @ w["a"]).tanh() * w["b"]).square().sum()

    def step(w: dict[str, Tensor], xs: Tensor) -> dict[str, Tensor]:
        slopes = vmap(grad(loss), in_axes=(None, 0))(w, xs)
        return {k: w[k] - 0.1 * slopes[k].mean(axis=0) for k in w}

    xs = Tensor(np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)).realize()
    make = lambda: {"a": Tensor(np.full((3, 2), 0.5, np.float32)).realize(), "b": floats(1, 2)}  # noqa: E731
    w, v, compiled, plain = make(), make(), jit(step, donate_argnums=(0,)), jit(step)
    places = {k: address(t) for k, t in w.items()}
    for _ in range(5):
        w, v = compiled(w, xs), plain(v, xs)
        assert {k: address(t) for k, t in w.items()} == places
    for k in w:
        np.testing.assert_allclose(w[k].numpy(), v[k].numpy(), rtol=1e-5)


def test_donated_argument_cannot_be_used() -> None:
    x = floats(1, 2)
    jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.shape == (2,)
    for use in (lambda: x.tolist(), lambda: vmap(lambda v: v)(x), lambda: jit(lambda x: x)(x), lambda: (x + 1).numpy()):
        with pytest.raises(EscapeError) as raised:
            use()
    assert str(raised.value) == (
        "numpy: this tensor was donated to jit, which may have overwritten it\n"
        "  value: f32[2]\n"
        "  try:   use the result of that call, or leave out donate_argnums"
    )
    y = floats(1, 2)
    assert vmap(jit(lambda y: y * 2, donate_argnums=0))(y).tolist() == [2, 4] and y.tolist() == [1, 2]


def test_errors_for_donate_argnums() -> None:
    with pytest.raises(OptionError, match="donate_argnums='x' is not a list of positions"):
        jit(lambda x: x, donate_argnums="x")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="donate_argnums=3 for a function of 1 argument"):
        jit(lambda x: x, donate_argnums=3)(floats(1))
    with pytest.raises(OptionError) as raised:
        jit(lambda x: x, donate_argnums=0, static_argnums=0)(floats(1))
    assert str(raised.value) == (
        "jit: argument 1 is static, and cannot be donated\n  try: make it either static or donated, not both"
    )
    with pytest.raises(OptionError, match="jit: argument `x` is static, and cannot be donated"):
        jit(lambda x: x, donate_argnames="x", static_argnums=0)(x=floats(1))


def test_donated_names() -> None:
    step = jit(lambda x, y: (x + 1) * y, donate_argnames="x")
    for call in (lambda x, y: step(x, y), lambda x, y: step(y=y, x=x)):
        x, y = floats(1, 2), floats(3, 4)
        before = address(x)
        z = call(x, y)
        assert address(z) == before and z.tolist() == [6, 12] and y.tolist() == [3, 4]
        with pytest.raises(EscapeError):
            x.tolist()


def test_memory_is_donated_only_once() -> None:
    """In `x, y = f(x, y)` the new y may take the memory of the old x, which the first result already has."""
    f = lambda x, y: (x + x.flip(0), x - y)  # noqa: E731
    step = jit(f, donate_argnums=0)
    got, wanted = ((floats(1, 2, 3, 4), floats(5, 6, 7, 8)) for _ in range(2))
    for _ in range(5):
        got, wanted = step(*got), jit(f)(*wanted)
        assert address(got[0]) != address(got[1])
    assert [x.tolist() for x in got] == [x.tolist() for x in wanted]


def test_number_may_be_donated() -> None:
    x = Tensor(0.75)
    assert jit(lambda x: x * 2, donate_argnums=0)(x).item() == 1.5
    with pytest.raises(EscapeError):
        x.item()
