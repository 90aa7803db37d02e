"""`vmap(strict=True)`: whole messages, and what it accepts."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tinygrad import Tensor

from branded import axis_index, cond, pmean, psum, random, vmap
from branded.errors import AxesError, BrandedError, OptionError, RandomnessError, WriteError

X, Y = Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0, 6.0])
KEYS = random.split(random.key(0), 3)
seen = 0


def strict(f: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return vmap(f, strict=True, **options)(*args)


def counts(x: Tensor) -> Tensor:
    global seen
    seen += 1
    return x


def counts_inside(x: Tensor) -> Tensor:
    n = 0

    def inner() -> None:
        nonlocal n
        n += 1

    inner()
    return x * n


def counting() -> Callable[[Tensor], Tensor]:
    n = 0

    def count(x: Tensor) -> Tensor:
        nonlocal n
        n += 1
        return x * n

    return count


class Counting:
    def __call__(self, x: Tensor) -> Tensor:
        return counts(x)


def twice(key: Tensor) -> Tensor:
    return random.uniform(key) + random.normal(key)


def split_then_used(key: Tensor) -> Tensor:
    return random.normal(random.split(key)[0]) + random.normal(key)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: strict(lambda x, y: x + Y.sum(), X, Y),
            AxesError,
            "strict: argument 2 is mapped, and no result depends on it\n"
            "  call: vmap at test_strict.py:N\n"
            "  try:  use the parameter, or leave the argument out",
        ),
        (
            lambda: strict(lambda x: (x, psum(x, "i")), X, axis_name="i"),
            AxesError,
            "strict: the result[1] is the same for all examples of `i`, and would be repeated\n"
            "  value: f32[]\n"
            "  call:  vmap at test_strict.py:N\n"
            "  try:   out_axes=None for it",
        ),
        (
            lambda: strict(counts, X),
            WriteError,
            "strict: the function assigns `seen`, a variable from outside, once for all examples\n"
            "  call: vmap at test_strict.py:N\n"
            "  try:  return the new value of seen from the function",
        ),
        (
            lambda: strict(partial(counting()), X),
            WriteError,
            "strict: the function assigns `n`, a variable from outside, once for all examples\n"
            "  call: vmap at test_strict.py:N\n"
            "  try:  return the new value of n from the function",
        ),
        (
            lambda: strict(lambda x: x + random.normal(KEYS[0]), X),
            RandomnessError,
            "strict: all examples of `x` share the key of normal, and so the sample\n"
            "  key: u32[2]\n"
            "  x:   opened by vmap at test_strict.py:N\n"
            '  try: random.split(key, n), mapped over the keys; randomness="same" if they share it',
        ),
        (
            lambda: strict(twice, KEYS),
            RandomnessError,
            "strict: normal uses a key that uniform has used\n"
            "  key: Vec[key:3, u32[2]]\n"
            "  key: opened by vmap at test_strict.py:N\n"
            "  try: first, second = random.split(key)",
        ),
        (
            lambda: strict(split_then_used, KEYS),
            RandomnessError,
            "strict: normal uses a key that split has used\n"
            "  key: Vec[key:3, u32[2]]\n"
            "  key: opened by vmap at test_strict.py:N\n"
            "  try: first, second = random.split(key)",
        ),
    ],
)
def test_what_it_rejects(call: Callable[[], Any], error: type[BrandedError], text: str) -> None:
    with pytest.raises(error) as raised:
        call()
    assert re.sub(r"(?<=test_strict\.py:)\d+", "N", str(raised.value)) == text


def test_it_is_a_bool() -> None:
    with pytest.raises(OptionError, match="strict"):
        vmap(lambda x: x, strict=1)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "call",
    [
        lambda: strict(lambda x, y: x + y, X, Y),
        lambda: strict(lambda p: p["a"], {"a": X, "b": Y}),  # part of an argument is used
        lambda: strict(lambda _: axis_index("i"), X, axis_name="i"),
        lambda: strict(lambda x: Tensor([7.0, 8.0]), X),  # depends on no example, and may be repeated
        lambda: strict(lambda x: psum(x, "i"), X, axis_name="i", out_axes=None),
        lambda: strict(lambda x: x - pmean(x, "i"), X, axis_name="i"),
        lambda: strict(counts_inside, X),
        lambda: strict(Counting(), X),  # what the function calls is not looked at
        lambda: strict(lambda x: x + random.normal(KEYS[0]), X, randomness="same"),
        lambda: strict(lambda k: random.normal(random.fold_in(k, 0)) + random.normal(random.fold_in(k, 1)), KEYS),
        lambda: strict(lambda k: random.choice(k, X), KEYS),
        lambda: strict(lambda k: random.multivariate_normal(k, X, X.diag()), KEYS),  # uses other samplers
        lambda: strict(lambda x, k: cond(x > 1, random.normal, random.uniform, k), X, KEYS),
        lambda: strict(lambda x: strict(lambda y: x * y, Y), X),
        lambda: strict(lambda x, y: x * y, X, Y, chunk_size=2),
    ],
)
def test_what_it_accepts(call: Callable[[], Tensor]) -> None:
    call()
