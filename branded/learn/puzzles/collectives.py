"""Puzzles: collectives, and combinations of all topics."""

from __future__ import annotations

import numpy as np

from branded.learn.puzzles.puzzle import Predict, Write, numbers

TITLE = "Collectives"


def _softmax(s: np.ndarray) -> np.ndarray:
    e = np.exp(s - s.max())
    return e / e.sum()  # type: ignore[no-any-return]


def _attention(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    def head(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.stack([_softmax(k @ x) @ v for x in q])

    return np.stack([np.stack([head(*h) for h in zip(*b, strict=True)]) for b in zip(Q, K, V, strict=True)])


PUZZLES = (
    Predict(
        title="A sum over the examples",
        text="`psum` adds up the values of all examples of a brand, which is called by its name. Predict the output.",
        program="""
            def total(row):
                print(vec_type(psum(row, "users")))
                return row


            again = vmap(total, axis_name="users")(Tensor.ones(5, 3))
        """,
        hints=("Does the sum over all users differ from user to user?",),
        because="The sum is the same for all users, so it lacks their brand. Like one example, it is an `f32[3]`.",
        wrong={
            "Vec[users:5, f32[3]]": "The sum over all users is the same for every user.",
            "f32[]": "`psum` adds over the brand. The 3 numbers of a row stay apart.",
        },
    ),
    Write(
        title="Softmax over the batch",
        text=(
            "Write `softmax(X)` for a list of numbers: `exp(x)` divided by the sum of all `exp(x)`. Write it as a "
            "function of one number, with `psum` over the brand, and map it with `vmap`."
        ),
        starter="""
            def softmax(X):
                ...
        """,
        hints=("`vmap(f, axis_name='i')` names the brand.", "`psum(x, 'i')` is the sum over all examples."),
        solution="""
            def softmax(X):
                return vmap(lambda x: x.exp() / psum(x.exp(), "i"), axis_name="i")(X)
        """,
        because="The sum varies over nothing and `x.exp()` over the brand, so the sum is broadcast.",
        wrong={
            """
            def softmax(X):
                return vmap(lambda x: x.exp() / x.exp().sum())(X)
            """: "`sum()` adds up one example, which is one number. `psum` adds up all examples.",
            """
            def softmax(X):
                return vmap(lambda x: x.exp() / pmax(x.exp(), "i"), axis_name="i")(X)
            """: "That divides by the largest, not by the sum.",
            """
            def softmax(X):
                return vmap(lambda x: x.exp() / X.exp().sum())(X)
            """: "The values are right, but they are not computed by `psum`.",
        },
        uses=("psum",),
        inputs=lambda: [(numbers(3),), (numbers(5, start=1),)],
        loop=_softmax,
    ),
    Write(
        title="The neighbour before",
        text=(
            "Write `steps(X)`: each number minus the one before it; the first is unchanged. Write it as a function "
            "of one number, with `ppermute(x, name, pairs)`, where a pair `(i, j)` sends the value of example `i` to "
            "example `j`, and an example that receives nothing has 0. Map the function with `vmap`."
        ),
        starter="""
            def steps(X):
                ...
        """,
        hints=("Example `i` should have the value of example `i - 1`.", "The pairs are `(0, 1), (1, 2), ...`."),
        solution="""
            def steps(X):
                pairs = [(i, i + 1) for i in range(X.shape[0] - 1)]
                return vmap(lambda x: x - ppermute(x, "i", pairs), axis_name="i")(X)
        """,
        because="The pairs are data, so a Python list of them is fine: the function itself still runs once.",
        wrong={
            """
            def steps(X):
                pairs = [(i + 1, i) for i in range(X.shape[0] - 1)]
                return vmap(lambda x: x - ppermute(x, "i", pairs), axis_name="i")(X)
            """: "That subtracts the next number: the pairs point the other way.",
            """
            def steps(X):
                n = X.shape[0]
                pairs = [(i, (i + 1) % n) for i in range(n)]
                return vmap(lambda x: x - ppermute(x, "i", pairs), axis_name="i")(X)
            """: "The first has none before it, and here it is sent the last.",
            """
            def steps(X):
                before = Tensor([0.0]).cat(X[:-1])
                return vmap(lambda x, y: x - y)(X, before)
            """: "The values are right, but they are not computed by `ppermute`.",
        },
        uses=("ppermute",),
        inputs=lambda: [(numbers(3),), (numbers(5, start=1),)],
        loop=lambda X: np.diff(X, prepend=np.float32(0)),
    ),
    Write(
        title="Attention",
        text=(
            "The last one. For a query `q` and the tables `K` and `V` of one head, attention is "
            "`(K @ q).softmax() @ V`. Write `attention(Q, K, V)` for a batch of sequences with several heads: the "
            "arguments have the axes batch, head, position, feature. Sequences and heads are zipped, and every query "
            "of a head is combined with all of its keys. Write the formula for one query, and map it with three vmaps."
        ),
        starter="""
            def attention(Q, K, V):
                ...
        """,
        hints=(
            "For one head: `vmap(one, in_axes=(0, None, None))`: the queries are mapped, keys and values shared.",
            "A mapped function can be mapped again: the next two vmaps zip all three arguments.",
        ),
        solution="""
            def attention(Q, K, V):
                def one(q, k, v):
                    return (k @ q).softmax() @ v

                head = vmap(one, in_axes=(0, None, None))
                return vmap(vmap(head))(Q, K, V)
        """,
        because="Three brands: batch and head are zipped, the query is broadcast. No axis is ever counted or moved.",
        wrong={
            """
            def attention(Q, K, V):
                def one(q, k, v):
                    return (k @ q).softmax() @ v

                head = vmap(one, in_axes=(0, None, None))
                return vmap(vmap(head), in_axes=(1, 1, 1))(Q, K, V)
            """: "The batch is axis 0, the heads axis 1: here the first two axes came out exchanged.",
            """
            def attention(Q, K, V):
                def one(q, k, v):
                    return (k @ q) @ v

                head = vmap(one, in_axes=(0, None, None))
                return vmap(vmap(head))(Q, K, V)
            """: "The softmax is missing.",
        },
        inputs=lambda: [
            (numbers(2, 2, 2, 2), numbers(2, 2, 2, 2, start=1), numbers(2, 2, 2, 2, start=6)),
            (numbers(2, 3, 4, 2), numbers(2, 3, 5, 2, start=1), numbers(2, 3, 5, 3, start=6)),
        ],
        loop=_attention,
        brands=3,
        by="three vmaps",
    ),
)
