"""Puzzles: derivatives per example."""

from __future__ import annotations

from typing import Any

import numpy as np

from branded.learn.puzzles.puzzle import Predict, Write, numbers

TITLE = "Gradients"


def _loss(w: Any, x: Any) -> Any:
    """(w * x).sum() * (w * x).sum()"""
    return (w * x).sum() * (w * x).sum()


def _linear(w: Any, x: Any) -> Any:
    """(w * x * x).sum()"""
    return (w * x * x).sum()


def _cubes(x: Any) -> Any:
    """(x * x * x).sum()"""
    return (x * x * x).sum()


def _squares(x: Any) -> Any:
    """(x * x).sum()"""
    return (x * x).sum()


def _gradients(f: Any, w: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return the gradient in `w`, for each row."""
    return np.stack([2 * (w @ x) * x if f is _loss else x * x for x in X])


def _clip_gradients(f: Any, w: np.ndarray, X: np.ndarray) -> np.ndarray:
    clipped = [g / max(1.0, float(np.sqrt(g @ g))) for g in _gradients(f, w, X)]
    return np.asarray(np.mean(clipped, 0))


def _slopes(f: Any, X: np.ndarray, V: np.ndarray) -> np.ndarray:
    return np.stack([(3 * x * x if f is _cubes else 2 * x) @ v for x, v in zip(X, V, strict=True)])


PUZZLES = (
    Write(
        title="A gradient for each example",
        text=(
            "`loss(w, x)` is one number. Write `gradients(loss, w, X)`: for each row `x` of `X`, the gradient of "
            "`loss(w, x)` with respect to `w`. Use `grad` and `vmap`."
        ),
        starter="""
            def gradients(loss, w, X):
                ...
        """,
        hints=(
            "`grad(loss)` is a function of `w` and `x`: the gradient with respect to the first.",
            "It is a function like any other: map it, with `w` shared.",
        ),
        solution="""
            def gradients(loss, w, X):
                return vmap(grad(loss), in_axes=(None, 0))(w, X)
        """,
        because="`vmap(grad(f))` is the loop of `grad(f)`. So each example has its own gradient of shared values.",
        wrong={
            """
            def gradients(loss, w, X):
                return grad(lambda w: vmap(lambda x: loss(w, x))(X).sum())(w)
            """: "That is one gradient, of the sum of all losses.",
            """
            def gradients(loss, w, X):
                return vmap(grad(loss, argnums=1), in_axes=(None, 0))(w, X)
            """: "These are the gradients with respect to `x`.",
        },
        inputs=lambda: [
            (_loss, numbers(3), numbers(3, 3, start=1)),
            (_loss, numbers(2), numbers(4, 2, start=1)),
            (_linear, numbers(2), numbers(3, 2, start=1)),
        ],
        loop=_gradients,
    ),
    Write(
        title="Clipped gradients",
        text=(
            "Private training clips the gradient of each example before they are averaged. Write "
            "`clipped(loss, w, X)`: take the gradient `g` for each row, divide it by its length if that is more than "
            "1, and give the mean over the rows. Use `vmap`."
        ),
        starter="""
            def clipped(loss, w, X):
                ...
        """,
        hints=(
            "Write the clipped gradient of one example as a function.",
            "There is no `if` on a value of one example; but `length.maximum(1.0)` is there.",
        ),
        solution="""
            def clipped(loss, w, X):
                def one(x):
                    g = grad(loss)(w, x)
                    return g / (g * g).sum().sqrt().maximum(1.0)

                return vmap(one)(X).mean(0)
        """,
        because="The clipping is written for one gradient, and the mean is taken outside, where the brand is an axis.",
        wrong={
            """
            def clipped(loss, w, X):
                g = grad(lambda w: vmap(lambda x: loss(w, x))(X).mean())(w)
                return g / (g * g).sum().sqrt().maximum(1.0)
            """: "That clips the mean. Each gradient should be clipped before the mean is taken.",
            """
            def clipped(loss, w, X):
                return vmap(grad(loss), in_axes=(None, 0))(w, X).mean(0)
            """: "That is the mean without the clipping.",
        },
        inputs=lambda: [
            (_loss, numbers(2), numbers(3, 2, start=1) / 4),
            (_loss, numbers(3), numbers(5, 3, start=1) / 4),
            (_linear, numbers(2), numbers(4, 2, start=1)),
        ],
        loop=_clip_gradients,
    ),
    Predict(
        title="A Jacobian for each example",
        text="Predict the output of this program.",
        program="""
            def halves(x):
                return x[:2] * x[1:]


            jacobians = vmap(jacrev(halves))(Tensor.ones(5, 3))
            print(jacobians.shape)
        """,
        hints=("For one example, `halves` has 3 numbers in and 2 out.", "The outputs come first."),
        because="The Jacobian of one example is a `(2, 3)`: outputs, then inputs. There are 5 of them.",
        wrong={
            "(5, 3, 2)": "A Jacobian has a row for each output.",
            "(5, 2, 5, 3)": "That is the Jacobian of the whole batch. Here each example has its own.",
        },
    ),
    Write(
        title="The slope in a direction",
        text=(
            "Write `slopes(f, X, V)`: for each row `x` of `X` and the row `v` of `V`, how fast `f` grows "
            "when `x` moves along `v`. Use `vmap`. Forward mode does it without the gradient: `jvp(f, (x,), (v,))` "
            "gives the value and the slope."
        ),
        starter="""
            def slopes(f, X, V):
                ...
        """,
        hints=("`jvp` gives a pair. The slope is the second.", "`x` and `v` belong together: zip them."),
        solution="""
            def slopes(f, X, V):
                return vmap(lambda x, v: jvp(f, (x,), (v,))[1])(X, V)
        """,
        because="`jvp` is for one point and one direction; the vmap gives a point and a direction to each example.",
        wrong={
            """
            def slopes(f, X, V):
                return vmap(lambda x, v: jvp(f, (x,), (v,)))(X, V)
            """: "That gives the values too. The slope is the second of the pair.",
            """
            def slopes(f, X, V):
                return vmap(lambda x: vmap(lambda v: jvp(f, (x,), (v,))[1])(V))(X)
            """: "That is the slope of each point in each direction.",
        },
        inputs=lambda: [
            (_cubes, numbers(3, 2), numbers(3, 2, start=1)),
            (_cubes, numbers(2, 3), numbers(2, 3, start=5)),
            (_squares, numbers(4, 2), numbers(4, 2, start=5)),
        ],
        loop=_slopes,
    ),
)
