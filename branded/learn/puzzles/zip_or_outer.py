"""Puzzles: zip or outer."""

from __future__ import annotations

from typing import Any

import numpy as np

from branded.learn.puzzles.puzzle import Predict, Write, numbers

TITLE = "Zip or outer"


def _difference(x: Any, y: Any) -> Any:
    """lambda x, y: x - y"""
    return x - y


def _area(x: Any, y: Any) -> Any:
    """lambda x, y: x * y + x"""
    return x * y + x


PUZZLES = (
    Predict(
        title="Which examples are paired?",
        text="`xs` is mapped twice. Predict the output of this program.",
        program="""
            xs, ys = Tensor([1, 2, 3]), Tensor([10, 20, 30])
            met = vmap(lambda x, y: vmap(lambda z: x * y + z)(xs))(xs, ys)
            print(met[1].tolist())
        """,
        hints=(
            "Which of `x`, `y` and `z` share a brand?",
            "`met[1]` is the result of the outer function for its second example. Which numbers are `x` and `y` there?",
        ),
        because=(
            "`x` and `y` enter one vmap, so they are zipped: 2 with 20. `z` enters another. A brand belongs to a vmap, "
            "not to a tensor, so `z` is not zipped with `x`, though both are `xs`: it is each of 1, 2 and 3."
        ),
        wrong={
            "[12, 42, 92]": "That is `x * y + 2`: row 1 has one `x`, one `y`, and every `z`.",
            "[11, 42, 93]": "That zips all three. `z` entered the inner vmap, so it has a brand of its own.",
            "[11, 12, 13]": "That is row 0, for the first of `xs` and `ys`.",
            "42": "That is `z` zipped with `x`. `z` has another brand, so each `z` is combined with the pair.",
        },
    ),
    Predict(
        title="Two vmaps: how many brands?",
        text=(
            "Where `e` is computed, two vmaps are running. `brands(e)` lists the brands that `e` varies over, so the "
            "program prints how many brands `e` has, and how many `e + r` has. Predict the output."
        ),
        program="""
            rows, columns = Tensor([1.0, 2.0, 3.0]), Tensor([0.0, 1.0])


            def cell(r, c):
                e = c.exp()
                print(len(brands(e)), len(brands(e + r)))
                return e + r


            table = vmap(lambda r: vmap(lambda c: cell(r, c))(columns))(rows)
        """,
        hints=(
            "Write down which brand each operand of `c.exp()` and `e + r` has.",
            "Does `c.exp()` change when `r` changes?",
        ),
        because=(
            "`e` depends on `c` alone, so it varies over the inner brand alone: it is computed twice, once for each "
            "column, and not six times. An operation has the brands of its operands, not of all enclosing vmaps."
        ),
        wrong={
            "2 2": "Two brands are open there, but `c.exp()` does not change with `r`. Its operand has one brand.",
            "1 1": "`e + r` takes one operand of each brand, so it has both.",
            "2 1": "It is the sum that takes one operand of each brand.",
            "2 6": "`e` stands for 2 numbers and `e + r` for 6. The program prints how many brands each of them has.",
            "0 1": "`c` came in through the inner vmap: it has its brand, and so has `c.exp()`.",
        },
    ),
    Write(
        title="The diagonal",
        text=(
            "`f` is a function of two numbers, and `a` and `b` have the same length. The table of `f` for all "
            "pairs is `vmap(lambda x: vmap(lambda y: f(x, y))(b))(a)`. Write `diagonal(f, a, b)`: the diagonal of that "
            "table, without the rest of it. Use one `vmap`."
        ),
        starter="""
            def diagonal(f, a, b):
                ...
        """,
        hints=(
            "Which numbers does entry `[i, i]` of the table come from?",
            "`a[i]` is paired with `b[i]` and no other. Is that zip or outer?",
        ),
        solution="""
            def diagonal(f, a, b):
                return vmap(f)(a, b)
        """,
        because=(
            "The diagonal of the outer table is the zip. That is all that a brand does: two numbers that share one "
            "are paired where their indices are equal."
        ),
        wrong={
            """
            def diagonal(f, a, b):
                return vmap(lambda x: vmap(lambda y: f(x, y))(b))(a)
            """: "This is the whole table.",
            """
            def diagonal(f, a, b):
                return vmap(lambda x: f(x, x))(a)
            """: "The second number should come from `b`.",
            """
            def diagonal(f, a, b):
                table = vmap(lambda x: vmap(lambda y: f(x, y))(b))(a)
                return Tensor.stack(*[table[i, i] for i in range(a.shape[0])])
            """: "The values are right, but it opened 2 brands: one vmap is enough.",
        },
        inputs=lambda: [
            (_difference, numbers(3), numbers(3, start=8)),
            (_area, numbers(4, start=1), numbers(4)),
        ],
        loop=lambda f, a, b: np.array([f(x, y) for x, y in zip(a, b, strict=True)]),
        only_one=True,
    ),
    Write(
        title="The table of products",
        text=(
            "Write `products(a, b)`: a table with the product of `a[i]` and `b[j]` at row `i` and column `j`. The "
            "lists may have different lengths. Use two vmaps."
        ),
        starter="""
            def products(a, b):
                ...
        """,
        hints=("One vmap goes inside the function of the other.", "The outer vmap makes the rows."),
        solution="""
            def products(a, b):
                return vmap(lambda x: vmap(lambda y: x * y)(b))(a)
        """,
        because="The outer vmap is over `a` and gives the rows; for each of them, the inner one goes over all of `b`.",
        wrong={
            """
            def products(a, b):
                return vmap(lambda x, y: x * y)(a, b)
            """: "One vmap zips the lists. All pairs need two.",
            """
            def products(a, b):
                return vmap(lambda y: vmap(lambda x: x * y)(a))(b)
            """: "Each row belongs to one `b`: the outer vmap is axis 0.",
            """
            def products(a, b):
                vmap(lambda x: vmap(lambda y: x * y)(b))(a)
                return a.reshape(-1, 1) * b
            """: "The values are right, but they are computed outside of the vmap: write it with two vmaps.",
            """
            def products(a, b):
                return Tensor.stack(*[vmap(lambda y: x * y)(b) for x in a])
            """: "it opened 3, 2 brands for batches of different sizes: no Python loop.",
        },
        inputs=lambda: [(numbers(3), numbers(3, start=8)), (numbers(2), numbers(4, start=1))],
        loop=lambda a, b: np.array([[x * y for y in b] for x in a]),
        brands=2,
        by="two vmaps",
    ),
    Predict(
        title="Which axis comes first?",
        text="Predict the output of this program.",
        program="""
            xs, ys = Tensor.ones(2), Tensor.ones(5)
            grid = vmap(lambda y: vmap(lambda x: x - y)(xs))(ys)
            print(grid.shape)
        """,
        hints=("The inner vmap gives a list for each `y`.", "The outer vmap puts its axis in front."),
        because="The inner vmap gives 2 numbers, and the outer one 5 such lists.",
        wrong={
            "(2, 5)": "The order in the formula does not matter: the outer vmap, which is over `ys`, gives axis 0.",
            "(5,)": "Two vmaps, two axes.",
        },
    ),
    Write(
        title="All-pairs cosine",
        text=(
            "The cosine of two vectors is `(x * y).sum()` divided by the product of their lengths. Write "
            "`cosines(X, Y)`: the cosine of each row of `X` with each row of `Y`. Use two vmaps."
        ),
        starter="""
            def cosines(X, Y):
                ...
        """,
        hints=(
            "Write `cosine(x, y)` for two vectors first.",
            "Then `vmap(lambda x: vmap(lambda y: cosine(x, y))(...))(...)`.",
        ),
        solution="""
            def cosines(X, Y):
                def cosine(x, y):
                    return (x * y).sum() / ((x * x).sum().sqrt() * (y * y).sum().sqrt())

                return vmap(lambda x: vmap(lambda y: cosine(x, y))(Y))(X)
        """,
        because=(
            "The formula is for two vectors. A value that depends on `x` alone has one brand, so its length is "
            "computed once for each row, and not once for each pair."
        ),
        wrong={
            """
            def cosines(X, Y):
                return vmap(lambda x: vmap(lambda y: (x * y).sum())(Y))(X)
            """: "These are the dot products: they have to be divided by the lengths.",
            """
            def cosines(X, Y):
                def cosine(x, y):
                    return (x * y).sum() / ((x * x).sum().sqrt() * (y * y).sum().sqrt())

                return vmap(cosine)(X, Y)
            """: "One vmap zips the rows. All pairs need two.",
        },
        inputs=lambda: [(numbers(3, 2), numbers(3, 2, start=8)), (numbers(2, 3), numbers(4, 3, start=1))],
        loop=lambda X, Y: np.array([[x @ y / np.sqrt((x @ x) * (y @ y)) for y in Y] for x in X]),
        brands=2,
        by="two vmaps",
    ),
)
