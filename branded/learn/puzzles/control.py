"""Puzzles: branches, loops, random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from tinygrad import Tensor

from branded import random
from branded.learn.puzzles.puzzle import Predict, Write, numbers

TITLE = "Loops, branches, random numbers"


def _averages(X: np.ndarray) -> np.ndarray:
    out = np.zeros_like(X)
    for i, row in enumerate(X):
        average = np.float32(0)
        for t, x in enumerate(row):
            average = (average + x) / 2
            out[i, t] = average
    return out


def _doublings(X: np.ndarray) -> np.ndarray:
    def one(x: float) -> int:
        n = 0
        while x < 100:
            x, n = x * 2, n + 1
        return n

    return np.array([one(float(x)) for x in X])


def _noisy(seed: Any, X: np.ndarray) -> np.ndarray:
    keys = random.split(random.key(seed), len(X)).numpy()
    return np.stack([x + random.normal(Tensor(key), x.shape).numpy() for key, x in zip(keys, X, strict=True)])


PUZZLES = (
    Write(
        title="A root and its slope",
        text=(
            "`root(x)` is the square root of a positive number, and 0 for any other. `root_slopes(X)` gives its slope "
            "for each number. For those that are not positive it should be 0, and is not. Fix it with "
            "`cond`, under the same `vmap`."
        ),
        starter="""
            def root_slopes(X):
                def root(x):
                    return (x > 0).where(x.sqrt(), 0.0)

                return vmap(grad(root))(X)
        """,
        hints=(
            "`cond(p, f, g, x)` is `f(x)` where `p` holds, else `g(x)`.",
            "`where` computes the root of all numbers, and its slope too, which for some is infinite or NaN.",
        ),
        solution="""
            def root_slopes(X):
                def root(x):
                    return cond(x > 0, lambda x: x.sqrt(), lambda x: x * 0, x)

                return vmap(grad(root))(X)
        """,
        because=(
            "Under `vmap` both branches are computed, as with `where`; but with `cond` each example has the derivative "
            "of its own branch alone."
        ),
        wrong={
            """
            def root_slopes(X):
                def root(x):
                    return x.maximum(0.0).sqrt()

                return vmap(grad(root))(X)
            """: "The root of 0 is 0, but its slope is infinite, and `maximum` does not make it finite.",
            """
            def root_slopes(X):
                def root(x):
                    return cond(x > 0, lambda x: x.sqrt(), lambda x: x, x)

                return vmap(grad(root))(X)
            """: "For numbers that are not positive the function is to be 0, and its slope too.",
        },
        inputs=lambda: [(np.array([4, 0, -1], np.float32),), (np.array([-2, 1], np.float32),)],
        loop=lambda X: np.array([0.5 / np.sqrt(x) if x > 0 else 0.0 for x in X]),
    ),
    Predict(
        title="Each its own number of steps",
        text="Predict the output of this program.",
        program="""
            starts = Tensor([1.0, 150.0, 3.0])
            ends = vmap(lambda x: while_loop(lambda c: c < 100, lambda c: c * 2, x))(starts)
            print(ends.tolist())
        """,
        hints=("Each example stops when its own condition no longer holds.",),
        because="The loop goes on while any example needs it, and one that is done keeps its value.",
        wrong={
            "[128.0, 19200.0, 384.0]": "An example that is done keeps its value while the others go on.",
            "[1.0, 150.0, 3.0]": "The condition is asked of each example, not of all together.",
        },
    ),
    Write(
        title="How many doublings?",
        text=(
            "Write `doublings(X)` for a list of positive numbers: how often each has to be doubled until it is at "
            "least 100. Use `while_loop` for one number, and map it with `vmap`."
        ),
        starter="""
            def doublings(X):
                ...
        """,
        hints=(
            "The carry of the loop may be a pair: the number, and a count.",
            "`while_loop(lambda s: s[0] < 100, lambda s: (..., ...), (x, x * 0))`.",
        ),
        solution="""
            def doublings(X):
                def one(x):
                    return while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2, s[1] + 1), (x, x * 0))[1]

                return vmap(one)(X)
        """,
        because="The loop is written for one number. Under `vmap`, each example stops on its own.",
        wrong={
            """
            def doublings(X):
                def one(x):
                    return while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2, s[1] + 1), (x, x * 0))[0]

                return vmap(one)(X)
            """: "These are the doubled numbers. The count is asked for.",
            """
            def doublings(X):
                return while_loop(lambda s: s[0].max() < 100, lambda s: (s[0] * 2, s[1] + 1), (X, X * 0))[1]
            """: "That is one condition for all: every number is doubled equally often.",
        },
        uses=("while_loop",),
        inputs=lambda: [(np.array([1, 150, 3], np.float32),), (np.array([60, 2], np.float32),)],
        loop=_doublings,
    ),
    Write(
        title="A moving average",
        text=(
            "The average starts at 0, and each number `x` makes it `(average + x) / 2`. Write `averages(X)`: for each "
            "row of `X`, the average after each of its numbers. Use `scan` and `vmap`, and no loop of Python."
        ),
        starter="""
            def averages(X):
                ...
        """,
        hints=(
            "`scan(f, init, xs)` calls `f(carry, x)`, which returns the next carry and the output of this step.",
            "`scan` returns a pair: the last carry, and the stacked outputs.",
        ),
        solution="""
            def averages(X):
                def step(average, x):
                    average = (average + x) / 2
                    return average, average

                return vmap(lambda row: scan(step, Tensor(0.0), row)[1])(X)
        """,
        because="`scan` runs along the numbers of a row, one after the other; `vmap` runs over the rows, all together.",
        wrong={
            """
            def averages(X):
                def step(average, x):
                    average = (average + x) / 2
                    return average, average

                return vmap(lambda row: scan(step, Tensor(0.0), row)[0])(X)
            """: "That is the last average of each row. All of them are asked for.",
            """
            def averages(X):
                def step(average, x):
                    return (average + x) / 2, average

                return vmap(lambda row: scan(step, Tensor(0.0), row)[1])(X)
            """: "That keeps the average before each number, and not after it.",
            """
            def averages(X):
                def one(row):
                    average, kept = Tensor(0.0), []
                    for i in range(row.shape[0]):
                        average = (average + row[i]) / 2
                        kept.append(average)
                    return Tensor.stack(*kept)

                return vmap(one)(X)
            """: "The values are right, but they are not computed by `scan`.",
        },
        uses=("scan",),
        inputs=lambda: [(numbers(2, 3),), (numbers(3, 5),)],
        loop=_averages,
    ),
    Write(
        title="A key for each example",
        text=(
            "Write `noisy(seed, X)`: each row of `X` plus `random.normal(key, row.shape)`. Every row has its own key: "
            "`random.split(random.key(seed), n)` gives `n` of them. Use `vmap`."
        ),
        starter="""
            def noisy(seed, X):
                ...
        """,
        hints=("Keys are a tensor, with one key for each entry of axis 0.", "A row and its key enter together."),
        solution="""
            def noisy(seed, X):
                keys = random.split(random.key(seed), X.shape[0])
                return vmap(lambda key, row: row + random.normal(key, row.shape))(keys, X)
        """,
        because="A sample depends only on its key, so it has the brands of the key, as any other value.",
        wrong={
            """
            def noisy(seed, X):
                key = random.key(seed)
                return vmap(lambda row: row + random.normal(key, row.shape))(X)
            """: "That is the same noise in every row: the key is shared.",
        },
        inputs=lambda: [(0, numbers(3, 2)), (7, numbers(2, 4))],
        loop=_noisy,
    ),
)
