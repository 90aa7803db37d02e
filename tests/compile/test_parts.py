"""Contiguous parts of results, such as `y[3]`: kernels read them in place, and no write changes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

from branded import jit, vmap
from branded.compile.output_pool import part_in_memory, value_in_memory

X = np.arange(60, dtype=np.float32).reshape(5, 3, 4)


@jit
def doubled(x: Tensor) -> Tensor:
    return x * 2


@pytest.mark.parametrize(
    "index",
    [
        *(
            0,
            -1,
            4,
            (1, 2),
            (1, 2, 3),
            (slice(1, 3),),
            (2, slice(1, 3)),
            (2, slice(None), slice(1, 3)),
            (0, slice(0, 1)),
        ),
        *(slice(None, None, 2), slice(None, None, -1), (slice(None), 1), (..., 2), (None, 3), (slice(2, 2),)),
    ],
)
def test_views_of_results(index: object) -> None:
    y = vmap(lambda r: r + 1)(Tensor(X)).realize()
    expected = (X + 1)[index]  # type: ignore[index]
    for _ in range(3):  # the second call builds the movements directly
        part = y[index]  # type: ignore[index]
        assert part.shape == expected.shape
        np.testing.assert_array_equal(part.numpy(), expected)
        np.testing.assert_array_equal(doubled(part).numpy(), 2 * expected)
        np.testing.assert_array_equal((part * 3).numpy(), 3 * expected)
    np.testing.assert_array_equal(y.numpy(), X + 1)


@pytest.mark.parametrize("cls", [bool, np.int64])
def test_index_of_another_type_is_not_taken_for_an_int(cls: Callable[[int], object]) -> None:
    y = doubled(Tensor(X).realize())
    for _ in range(3):
        np.testing.assert_array_equal(y[1].numpy(), 2 * X[1])
        try:
            shape = y[cls(1)].shape  # type: ignore[index]
        except Exception:
            continue
        assert shape in ((1, 5, 3, 4), (3, 4))


@pytest.mark.parametrize("name", ["transpose", "permute", "reshape", "view", "flatten", "unsqueeze", "flip", "squeeze"])
def test_movements_of_results(name: str) -> None:
    arguments = {"permute": (2, 0, 1), "reshape": (4, 15), "view": (15, 4), "unsqueeze": (1,), "flip": (0, 2)}
    args = arguments.get(name, ())
    y = doubled(Tensor(X).realize())
    plain = getattr(Tensor(2 * X), name)(*args).numpy()
    for _ in range(3):
        np.testing.assert_array_equal(getattr(y, name)(*args).numpy(), plain)
        np.testing.assert_array_equal(doubled(getattr(y, name)(*args)).numpy(), 2 * plain)


def test_results_are_iterated_and_unpacked() -> None:
    y = doubled(Tensor(X[:2]).realize())
    a, b = y
    for rows in ([a, b], list(y), [y[0], y[1]]):
        np.testing.assert_array_equal([row.numpy() for row in rows], 2 * X[:2])
        np.testing.assert_array_equal([row.tolist() for row in rows], 2 * X[:2])
    assert [x.item() for x in y[1, 2]] == [x * 2 for x in X[1, 2].tolist()]


def test_part_keeps_its_value_when_its_result_is_dropped() -> None:
    parts = []
    for i in range(40):  # more than the buffers that are kept for a result
        parts.append(doubled(Tensor(X + i).realize())[2])
    for i, part in enumerate(parts):
        np.testing.assert_array_equal(doubled(part).numpy(), 4 * (X + i)[2])
        np.testing.assert_array_equal(part.numpy(), 2 * (X + i)[2])


def test_part_sees_writes_as_in_tinygrad() -> None:
    y = doubled(Tensor(X).realize())
    part = y[1]
    assert doubled(part).tolist() == (4 * X[1]).tolist()
    y.assign(Tensor(X) * 0).realize()
    plain = Tensor(X).realize() * 1
    plain.realize()
    view = plain[1]
    plain.assign(Tensor(X) * 0).realize()
    assert part.tolist() == doubled(part).tolist() == view.tolist()


def test_unaligned_part_and_donated_result() -> None:
    x = doubled(Tensor(np.arange(9, dtype=np.int8)).realize())
    for i in range(8):
        assert doubled(x[i : i + 2]).tolist() == [4 * i, 4 * i + 4]
    step = jit(lambda s, p: s * 2 + p.sum(), donate_argnums=0)
    s = doubled(Tensor(X).realize())
    part = s[1]
    np.testing.assert_allclose(step(s, part).numpy(), 4 * X + (2 * X[1]).sum(), rtol=1e-6)
    np.testing.assert_array_equal(part.numpy(), 2 * X[1])


def test_part_is_a_view_of_its_buffer() -> None:
    y = doubled(Tensor(X).realize())
    whole, part = value_in_memory(y.uop), part_in_memory(y[2, 1:].uop)
    assert whole is not None and part is not None
    assert part.type[:2] == ((2, 4), dtypes.float) and part.address == whole.address + 4 * (2 * 12 + 4)
    assert part_in_memory(y[:, 1].uop) is None and part_in_memory(y.T.uop) is None


def test_joined_results_and_reductions() -> None:
    f = vmap(lambda r: r + 1)
    for i in range(3):
        x = X[:, 0] + i
        a, b = f(Tensor(x)).realize(), f(Tensor(2 * x)).realize()
        pairs = [
            (a.cat(b), np.concatenate([x + 1, 2 * x + 1])),
            (Tensor.stack(a, b, dim=1), np.stack([x, 2 * x], 1) + 1),
        ]
        pairs += [(a.cat(b[:1], a), np.concatenate([x + 1, 2 * x[:1] + 1, x + 1])), (b.argmax(), np.argmax(x))]
        pairs += [(a.cat(b).max(0) + a.cat(b).sum(), np.maximum(x, 2 * x).max(0) + 1 + (3 * x + 2).sum())]
        for ours, expected in pairs:
            np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-6)
            np.testing.assert_allclose(doubled(ours).numpy(), 2 * expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["array", "buffer", "part", "flipped", "zeros", "number", "computed"])
@pytest.mark.parametrize("joined", [False, True])
def test_assign_to_value_that_is_not_computed(kind: str, joined: bool) -> None:
    x = np.arange(12, dtype=np.float32)
    makers: dict[str, Callable[[], Tensor | float]] = {
        "array": lambda: Tensor(x),
        "buffer": lambda: Tensor(x).realize(),
        "part": lambda: Tensor(np.concatenate([x, x])).realize()[4:16],
        "flipped": lambda: Tensor(x).realize().flip(0),
        "zeros": lambda: Tensor.zeros(12),
        "number": lambda: 2.0,
        "computed": lambda: Tensor(x).realize() * 3,
    }
    for _ in range(3):
        y = vmap(lambda r: r + 1)(Tensor(x[:6] if joined else x).realize())
        y = y.cat(y) if joined else y
        value = makers[kind]()
        expected = (Tensor.zeros(12) + makers[kind]()).numpy()
        y.assign(value).realize()
        np.testing.assert_array_equal(y.numpy(), expected)
        np.testing.assert_array_equal(y[2:5].numpy(), expected[2:5])
        if isinstance(value, Tensor) and kind != "array":  # tinygrad gives an array's tensor the same memory
            value.assign(value * 0 + 7).realize()
            np.testing.assert_array_equal(y.numpy(), expected)
