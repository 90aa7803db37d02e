"""Puzzles: zip or outer."""

from __future__ import annotations

import numpy as np

from branded.learn.puzzles.puzzle import Predict, Write, numbers

TITLE = "Zip or outer"

_KIND = "print({1: 'zip', 2: 'outer'}[met.ndim])"
"""Which of the two a table is, read from the table: the lists are as long as each other."""

PUZZLES = (
    Predict(
        title="One to one, or each with each?",
        text="Is `met` the *zip* (each number with its partner) or the *outer* table (each number with every other)?",
        program="""
            left, right = Tensor([1, 2, 3]), Tensor([4, 6, 8])
            met = vmap(lambda a, b: a + b)(left, right)
        """,
        probe=_KIND,
        hints=("How many vmaps are there?",),
        because="One vmap is one brand, and operands that share their brand are zipped: `[5, 8, 11]`.",
        wrong={"outer": "For an outer table `a` and `b` would need two brands, and this is one vmap."},
    ),
    Predict(
        title="And now?",
        text="*zip* or *outer*?",
        program="""
            left, right = Tensor([1, 2, 3]), Tensor([4, 6, 8])
            met = vmap(lambda a: vmap(lambda b: a + b)(right))(left)
        """,
        probe=_KIND,
        hints=("How many vmaps are there?", "Which brand has `a`, and which has `b`?"),
        because="Two vmaps are two brands. Neither operand has that of the other, so both are broadcast.",
        wrong={"zip": "`a` has the brand of the outer vmap, `b` that of the inner one. They share none."},
    ),
    Predict(
        title="The same tensor twice",
        text="The same list enters two vmaps. *zip* or *outer*?",
        program="""
            ones = Tensor([1, 2, 3])
            met = vmap(lambda a: vmap(lambda b: a * b)(ones))(ones)
        """,
        probe=_KIND,
        hints=("A brand belongs to a vmap, not to a tensor.",),
        because=(
            "Each vmap opens a fresh brand, whatever enters it. So axes of the same size, and even of the same tensor, "
            "are never confused."
        ),
        wrong={"zip": "It is the same tensor, but it entered two vmaps, and so it has two brands."},
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
            """: "One vmap zips the lists. Each with each needs two.",
            """
            def products(a, b):
                return vmap(lambda y: vmap(lambda x: x * y)(a))(b)
            """: "The rows are those of `b`: the outer vmap gives axis 0.",
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
        text="What does this program print?",
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
            "The formula is that of two vectors. What depends on `x` alone varies over one brand, so its length is "
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
            """: "One vmap zips the rows. Each with each needs two.",
        },
        inputs=lambda: [(numbers(3, 2), numbers(3, 2, start=8)), (numbers(2, 3), numbers(4, 3, start=1))],
        loop=lambda X, Y: np.array([[x @ y / np.sqrt((x @ x) * (y @ y)) for y in Y] for x in X]),
        brands=2,
        by="two vmaps",
    ),
)
