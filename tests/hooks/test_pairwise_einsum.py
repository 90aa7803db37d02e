"""`einsum` of several operands: pairs where they save multiplications, and always the values of numpy."""

from __future__ import annotations

import numpy as np
import pytest
from tinygrad import Tensor

from branded import jit, vmap
from branded.hooks.pairwise_einsum import _order, _terms
from tests.support.examples import in_memory

R = np.random.default_rng(0)
FORMULAS: dict[str, tuple[tuple[int, ...], ...]] = {
    "abc,bd,ce->ade": ((8, 9, 10), (9, 11), (10, 12)),
    "ij,jk,kl,lm": ((5, 6), (6, 7), (7, 8), (8, 9)),
    "bij, bjk, bkl -> bil": ((4, 9, 10), (4, 10, 11), (4, 11, 12)),
    "ij,jk,ki->": ((20, 21), (21, 22), (22, 20)),
    "i,ij,j->": ((30,), (30, 40), (40,)),
    "a,b,c->abc": ((3,), (4,), (5,)),
    "nki,kij,nkj->nk": ((7, 3, 2), (3, 2, 2), (7, 3, 2)),
    "i,i,i,i->i": ((30,), (30,), (30,), (30,)),
    "ii,ij,jk->ik": ((9, 9), (9, 8), (8, 7)),
    "...i,ij,jk->...k": ((2, 3, 9), (9, 8), (8, 7)),
}


def order(formula: str) -> list[tuple[int, int, str]] | None:
    found = _terms(formula, [Tensor.empty(*shape) for shape in FORMULAS[formula]])
    return None if found is None else _order(*found)


@pytest.mark.parametrize("formula", FORMULAS)
def test_einsum_is_numpys(formula: str) -> None:
    xs = [R.standard_normal((2, *shape)).astype(np.float32) for shape in FORMULAS[formula]]

    def f(*xs: Tensor) -> Tensor:
        return Tensor.einsum(formula, *xs)

    expected = np.stack([np.einsum(formula, *(x[i] for x in xs)) for i in range(2)])
    np.testing.assert_allclose(jit(vmap(f))(*map(in_memory, xs)).numpy(), expected, rtol=1e-4, atol=1e-4)


def test_pairs_are_chosen_where_they_save_multiplications() -> None:
    assert order("abc,bd,ce->ade") == [(0, 1, "acd"), (0, 1, "ade")]
    steps = order("ij,jk,kl,lm")
    assert steps is not None and len(steps) == 3
    for formula in ("a,b,c->abc", "nki,kij,nkj->nk", "i,i,i,i->i", "ii,ij,jk->ik", "...i,ij,jk->...k"):
        assert order(formula) is None


def test_ints_are_multiplied_at_once() -> None:
    """The product of two of them might overflow where the formula sums in a wider dtype."""
    x = Tensor.ones(9, 9, dtype="int8")
    assert _terms("ij,jk,kl->il", [x, x, x]) is None
