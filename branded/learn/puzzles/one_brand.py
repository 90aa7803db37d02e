"""Puzzles: one vmap, one brand."""

from __future__ import annotations

import numpy as np

from branded.learn.puzzles.puzzle import Predict, Write, numbers

TITLE = "One vmap"

PUZZLES = (
    Predict(
        title="What the function sees",
        text="Predict the output of this program.",
        program="""
            def look(row):
                print(row.shape)
                return row.sum()


            looked = vmap(look)(Tensor.ones(5, 3))
        """,
        hints=("`look` is a function of one example.", "The examples are the entries of axis 0."),
        because="`vmap` takes axis 0 away: the function sees one row of 3 numbers, and it runs once, not 5 times.",
        wrong={
            "(5, 3)": "That is the argument of `vmap(look)`. `look` itself sees one example of it.",
            "(5,)": "Axis 0 has the examples, so axis 0 is the one that the function does not see.",
        },
    ),
    Predict(
        title="The type of one example",
        text=(
            "`vec_type` gives the type of a value, `Vec[name:size, type]`: the brand that it varies over, and the type "
            "of one example. The brand is named after the parameter of the function. Predict the output."
        ),
        program="""
            def show(row):
                print(vec_type(row))
                return row.sum()


            shown = vmap(show)(Tensor.ones(5, 3))
        """,
        hints=("The brand has the size of the batch.", "After the comma is the type of one example: `f32[...]`."),
        because="An `f32[3]` for each of the 5 examples of the brand `row`.",
        wrong={
            "f32[5, 3]": "That is the type outside. Inside, the 5 is the size of a brand.",
            "f32[3]": "That is the type for one example. It also varies over a brand.",
            "Vec[row:3, f32[5]]": "The brand is axis 0, which has 5 entries.",
        },
    ),
    Write(
        title="The norm of each row",
        text=(
            "Write `norms(X)`: the length of each row of the table `X`. The length of one row `x` is "
            "`(x * x).sum().sqrt()`. Use `vmap`."
        ),
        starter="""
            def norms(X):
                ...
        """,
        hints=("Write the function of one row first.", "`vmap(f)(X)` applies `f` to each row of `X`."),
        solution="""
            def norms(X):
                return vmap(lambda x: (x * x).sum().sqrt())(X)
        """,
        because="The function takes one row, so no axis is needed: `sum()` adds up one row.",
        wrong={
            """
            def norms(X):
                return (X * X).sum().sqrt()
            """: "That is one length of the whole table, not one for each row.",
            """
            def norms(X):
                return vmap(lambda x: (x * x).sum())(X)
            """: "That is the square of the length: the root is missing.",
            """
            def norms(X):
                return (X * X).sum(1).sqrt()
            """: "The values are right, but it opened no brand: write it with a vmap.",
            """
            def norms(X):
                vmap(lambda x: x)(X)
                return (X * X).sum(1).sqrt()
            """: "The values are right, but they are computed outside of the vmap: write it with a vmap.",
        },
        inputs=lambda: [(np.array([[3, 4], [0, 2], [6, 8]], np.float32),), (numbers(2, 5),)],
        loop=lambda X: np.stack([np.sqrt((x * x).sum()) for x in X]),
    ),
    Write(
        title="Two lists of vectors",
        text=(
            "Write `dots(X, Y)`: the dot product of the first row of `X` with the first row of `Y`, of the second with "
            "the second, and so on. Use one `vmap`."
        ),
        starter="""
            def dots(X, Y):
                ...
        """,
        hints=(
            "A mapped function may have two arguments.",
            "Arguments of one vmap share one brand, so their examples are paired.",
        ),
        solution="""
            def dots(X, Y):
                return vmap(lambda x, y: (x * y).sum())(X, Y)
        """,
        because="Both arguments enter with one brand. That is the zip.",
        wrong={
            """
            def dots(X, Y):
                return X @ Y.T
            """: "That is every row of `X` with every row of `Y`: the outer product, not the zip.",
            """
            def dots(X, Y):
                return vmap(lambda x, y: x * y)(X, Y)
            """: "The products of one pair still have to be added up.",
            """
            def dots(X, Y):
                table = vmap(lambda x: vmap(lambda y: (x * y).sum())(Y))(X)
                return Tensor.stack(*[table[i, i] for i in range(X.shape[0])])
            """: "The values are right, but it opened 2 brands: one vmap is enough.",
        },
        inputs=lambda: [(numbers(3, 2), numbers(3, 2, start=5)), (numbers(2, 4), numbers(2, 4, start=1))],
        loop=lambda X, Y: np.stack([x @ y for x, y in zip(X, Y, strict=True)]),
        only_one=True,
    ),
    Write(
        title="A shared argument",
        text=(
            "`f(w, x)` is a function of one weight vector `w` and one example `x`. Write `scores(f, w, X)`: the value "
            "of `f` for each row `x` of `X`, with the same `w` for all of them. Use `vmap`."
        ),
        starter="""
            def scores(f, w, X):
                ...
        """,
        hints=(
            "`in_axes` has one entry for each argument of `f`.",
            "`None` is the axis of an argument that all examples share.",
        ),
        solution="""
            def scores(f, w, X):
                return vmap(f, in_axes=(None, 0))(w, X)
        """,
        because="`vmap(lambda x: f(w, x))(X)` is the same: closed-over values are shared.",
        wrong={
            """
            def scores(f, w, X):
                return vmap(f)(w, X)
            """: "That takes one number of `w` for each row: `w` is zipped with `X`, and should be shared.",
            """
            def scores(f, w, X):
                return vmap(f, in_axes=(None, 1))(w, X)
            """: "Axis 1 of `X` has its columns; the examples are its rows, axis 0.",
            """
            def scores(f, w, X):
                return vmap(lambda x: (w * x).sum())(X)
            """: "Use `f`: it is another function here.",
        },
        inputs=lambda: [
            (_weighted_sum, numbers(3), numbers(3, 3)),
            (_weighted_sum, numbers(2), numbers(4, 2)),
            (_distance, numbers(2), numbers(3, 2)),
        ],
        loop=lambda f, w, X: np.stack([f(w, x) for x in X]),
    ),
)


def _weighted_sum(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(w * x).sum()"""
    return (w * x).sum()  # type: ignore[no-any-return]


def _distance(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    """((w - x) * (w - x)).sum()"""
    return ((w - x) * (w - x)).sum()  # type: ignore[no-any-return]
