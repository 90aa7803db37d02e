"""Puzzles: axes, trees, nesting, chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tinygrad import Tensor

from branded.core.brand import Brand
from branded.core.values import brands
from branded.learn.puzzles.puzzle import Predict, Write, numbers

TITLE = "Axes, pytrees, nesting"


def _value_range(x: Any) -> Any:
    """x.max() - x.min()"""
    return x.max() - x.min()


def _first(x: Any) -> Any:
    """x[0] * 2"""
    return x[0] * 2


def _linear(params: dict[str, Any], x: Any) -> Any:
    """(params["w"] * x).sum() + params["b"].sum()"""
    return (params["w"] * x).sum() + params["b"].sum()


def _product(params: dict[str, Any], x: Any) -> Any:
    """(params["w"] * x).sum() * params["b"].sum()"""
    return (params["w"] * x).sum() * params["b"].sum()


def _square_sum(x: Any) -> Any:
    """(x * x).sum()"""
    return (x * x).sum()


def _more_than_two(in_pieces: Callable[..., Any]) -> str | None:
    """Return the complaint about a function that passes one example, or more than two at a time, to `f`."""
    sizes: list[int] = []

    def watched(x: Tensor) -> Tensor:
        sizes.append(max((b.size for b in brands(x) if isinstance(b, Brand)), default=0))
        return (x * x).sum()

    in_pieces(watched, Tensor.ones(5, 3))
    if min(sizes, default=0) == 0:
        return "The values are right, but it opened no brand: write it with a vmap."
    if max(sizes) > 2:
        return f"The values are right, but {max(sizes)} examples are computed at a time, and 2 are allowed."
    return None


PUZZLES = (
    Write(
        title="Columns",
        text=(
            "`f` is a function of one vector. Write `of_columns(f, X)`: the value of `f` for each column of `X`. Use "
            "`vmap` with `in_axes`, and do not transpose."
        ),
        starter="""
            def of_columns(f, X):
                ...
        """,
        hints=("`in_axes` says which axis has the examples.", "The columns are counted along axis 1."),
        solution="""
            def of_columns(f, X):
                return vmap(f, in_axes=1)(X)
        """,
        because="`in_axes=-1` is the same: negative axes count from the end.",
        wrong={
            """
            def of_columns(f, X):
                return vmap(f)(X)
            """: "That is the value for each row: without `in_axes`, axis 0 has the examples.",
            """
            def of_columns(f, X):
                return vmap(f)(X.transpose())
            """: "The values are right, but they are not computed by `in_axes=1`.",
        },
        uses=("in_axes=1",),
        inputs=lambda: [(_value_range, numbers(3, 3)), (_value_range, numbers(2, 4)), (_first, numbers(3, 2))],
        loop=lambda f, X: np.stack([f(X[:, j]) for j in range(X.shape[1])]),
    ),
    Predict(
        title="In at one axis, out at another",
        text="Predict the output of this program.",
        program="""
            boxes = Tensor.ones(2, 3, 4)
            moved = vmap(lambda box: box * 2, in_axes=1, out_axes=2)(boxes)
            print(moved.shape)
        """,
        hints=("Axis 1 is taken away: which shape is left for one example?", "`out_axes` is an axis of the result."),
        because="One example is a `(2, 4)`, and the 3 examples come back as axis 2.",
        wrong={
            "(2, 3, 4)": "Then the examples would be back at axis 1.",
            "(3, 2, 4)": "That is `out_axes=0`.",
        },
    ),
    Write(
        title="Columns, and columns again",
        text=(
            "Write `shares(X)`: a table of the shape of `X`, in which each column is divided by its sum. Use `vmap` "
            "with `in_axes` and `out_axes`."
        ),
        starter="""
            def shares(X):
                ...
        """,
        hints=("One column `x` becomes `x / x.sum()`.", "Where should the columns go in the result?"),
        solution="""
            def shares(X):
                return vmap(lambda x: x / x.sum(), in_axes=1, out_axes=1)(X)
        """,
        because="The examples are on axis 1 of the argument, and should be on axis 1 of the result.",
        wrong={
            """
            def shares(X):
                return vmap(lambda x: x / x.sum(), in_axes=1)(X)
            """: "The columns came out as rows: without `out_axes` the examples go to axis 0.",
            """
            def shares(X):
                return vmap(lambda x: x / x.sum())(X)
            """: "These are the shares of each row.",
            """
            def shares(X):
                return vmap(lambda x: x / x.sum(), in_axes=1)(X).transpose()
            """: "The values are right, but they are not computed by `out_axes=1`.",
        },
        uses=("in_axes=1", "out_axes=1"),
        inputs=lambda: [(numbers(3, 3) + 3,), (numbers(2, 4) + 3,)],
        loop=lambda X: np.stack([x / x.sum() for x in X.T], 1),
    ),
    Predict(
        title="The same for all",
        text="The second result is the same for every example. Predict the output of this program.",
        program="""
            table, shared = Tensor.ones(5, 3), Tensor.ones(2)
            sums, same = vmap(lambda x: (x.sum(), shared * 2), out_axes=(0, 1))(table)
            print(same.shape)
        """,
        hints=("An axis in `out_axes` is an axis that the result has, whether or not it varies.",),
        because="An unbatched result is repeated along `out_axes`. With `None` it would stay a `(2,)`.",
        wrong={
            "(5, 2)": "The 5 examples go to axis 1.",
            "(2,)": "That is `out_axes=(0, None)`.",
        },
    ),
    Write(
        title="A tree of parameters",
        text=(
            "`f(params, x)` takes a dict with the entries `w` and `b`, and gives one number. Now `w` has a leading "
            "axis with one weight vector for each model, and all models share the vector `b`. Write "
            "`ensemble(f, params, x)`: the number of each model for the same `x`. Use one `vmap`."
        ),
        starter="""
            def ensemble(f, params, x):
                ...
        """,
        hints=("`in_axes` may have a dict where the argument has one.", "A shared argument has the axis `None`."),
        solution="""
            def ensemble(f, params, x):
                return vmap(f, in_axes=({"w": 0, "b": None}, None))(params, x)
        """,
        because="The tree of axes has the form of the arguments; its keys may stand in any order.",
        wrong={
            """
            def ensemble(f, params, x):
                return vmap(f, in_axes=(0, None))(params, x)
            """: "That gives each model one number of `b`, and all of them share `b`.",
            """
            def ensemble(f, params, x):
                return vmap(f, in_axes=({"w": 0, "b": None}, 0))(params, x)
            """: "All models get the same `x`.",
        },
        inputs=lambda: [
            (_linear, {"w": numbers(3, 3), "b": numbers(3, start=5)}, numbers(3, start=1)),
            (_linear, {"w": numbers(4, 2), "b": numbers(4, start=5)}, numbers(2, start=1)),
            (_product, {"w": numbers(3, 4), "b": numbers(3, start=5)}, numbers(4, start=1)),
        ],
        only_one=True,
        loop=lambda f, params, x: np.stack([f({"w": w, "b": params["b"]}, x) for w in params["w"]]),
    ),
    Write(
        title="Three deep",
        text=(
            "Write `bilinear(X, W, Y)`: a box with the number `x @ W[k] @ y` at `[k, i, j]`, for each matrix `W[k]`, "
            "each row `x = X[i]` and each row `y = Y[j]`. Use three vmaps."
        ),
        starter="""
            def bilinear(X, W, Y):
                ...
        """,
        hints=("The outermost vmap gives axis 0: it is that over the matrices.", "`(x @ w) @ y` is one number."),
        solution="""
            def bilinear(X, W, Y):
                return vmap(lambda w: vmap(lambda x: vmap(lambda y: x @ w @ y)(Y))(X))(W)
        """,
        because="Every vmap has its own brand. `x @ w` varies over two of them, and is not computed for each `y`.",
        wrong={
            """
            def bilinear(X, W, Y):
                return vmap(lambda x: vmap(lambda y: vmap(lambda w: x @ w @ y)(W))(Y))(X)
            """: "The axes are in the order `[i, j, k]`: the outermost vmap gives axis 0.",
            """
            def bilinear(X, W, Y):
                return vmap(lambda w: vmap(lambda x, y: x @ w @ y)(X, Y))(W)
            """: "That takes `X[i]` with `Y[i]` alone.",
        },
        inputs=lambda: [
            (numbers(2, 2), numbers(2, 2, 2, start=1), numbers(2, 2, start=6)),
            (numbers(3, 2), numbers(4, 2, 3, start=1), numbers(5, 3, start=6)),
        ],
        loop=lambda X, W, Y: np.array([[[x @ w @ y for y in Y] for x in X] for w in W]),
        brands=3,
        by="three vmaps",
    ),
    Write(
        title="Less memory",
        text=(
            "Write `in_pieces(f, X)`: the value of `f` for each row of `X`, computing at most two rows at a time. "
            "There is an option of `vmap` for it."
        ),
        starter="""
            def in_pieces(f, X):
                return vmap(f)(X)
        """,
        hints=("The pieces are called chunks.",),
        solution="""
            def in_pieces(f, X):
                return vmap(f, chunk_size=2)(X)
        """,
        because="The result is the same, also where the last chunk is smaller, in the memory that 2 examples need.",
        wrong={
            """
            def in_pieces(f, X):
                return vmap(f, chunk_size=3)(X)
            """: "3 examples are computed at a time",
            """
            def in_pieces(f, X):
                return vmap(f, in_axes=1, chunk_size=2)(X)
            """: "These are the values for the columns.",
            """
            def in_pieces(f, X):
                vmap(f, chunk_size=2)(X)
                return Tensor.stack(*map(f, X))
            """: "The values are right, but it opened no brand",
        },
        inputs=lambda: [(_square_sum, numbers(3, 3)), (_square_sum, numbers(4, 2)), (_value_range, numbers(5, 2))],
        loop=lambda f, X: np.stack([f(x) for x in X]),
        brands=0,
        also=_more_than_two,
    ),
)
