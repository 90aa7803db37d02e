"""Makes the pictures of these pages, each from values that the library computed: `python docs/pictures.py`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tinygrad import Tensor

from branded import Vec, brand, cond, grad, jacrev, jvp, psum, vmap
from branded.learn.picture import Picture, beside, cells, flow, journey, operation, rows, tree
from branded.typing import S, S1

FOLDER = Path(__file__).parent / "pictures"
PICTURES: dict[str, Callable[[], Picture]] = {}
"""The function that draws each picture, by file name."""


def drawn(make: Callable[[], Picture]) -> Callable[[], Picture]:
    """Register a picture: the function `zip_cells` makes the file zip-cells.svg."""
    PICTURES[make.__name__.replace("_", "-")] = make
    return make


# ---- the course, chapters 1 to 4 ----


@drawn
def zip_cells() -> Picture:
    with brand("i", 3) as i:
        x, y = i.vec(Tensor([1, 2, 3])), i.vec(Tensor([4, 6, 8]))
        return operation({"a": x, "b": y}, "+", x + y).titled("One brand: zip")


@drawn
def outer_cells() -> Picture:
    return outer("Two brands: outer")


@drawn
def outer_filling() -> Picture:
    return Filling(*vars(outer("Two vmaps fill a table: for each a, for each b")).values())


class Filling(Picture):
    """A picture of two operands and their result, whose cells appear in the order of the loops.

    Who wishes for less motion sees the whole table at once, as does who prints it.
    """

    @property
    def svg(self) -> str:
        parts = CELL.split(super().svg)
        cells = parts[1::2]
        count = len(cells) // 3  # two operands, and the result
        for k, cell in enumerate(cells):
            kind = "used" if k < 2 * count else "filled"
            style = f'style="animation-delay:{0.5 * (k % count):.1f}s"'
            parts[1 + 2 * k] = f'<g class="{kind}" {style}>{cell}</g>'
        head, rest = parts[0].split("</desc>\n", 1)
        return f"{head}</desc>\n{MOTION}\n{rest}{''.join(parts[1:])}"


CELL = re.compile(r'(<rect [^>]*/>\n?<text [^>]*class="value">[^<]*</text>)')
MOTION = """\
<style>@media (prefers-reduced-motion: no-preference) {
.filled { animation: fill .4s both } @keyframes fill { from { opacity: 0 } }
.used rect { animation: use .5s; animation-delay: inherit } @keyframes use { 50% { stroke-width: 4 } }
}</style>"""
"""Nine cells take less than five seconds, after which nothing moves."""


def outer(title: str) -> Picture:
    """Return the picture of the outer sum."""
    with brand("i", 3) as i, brand("j", 3) as j:
        x, y = i.vec(Tensor([1, 2, 3])), j.vec(Tensor([4, 6, 8]))
        return operation({"a": x, "b": y}, "+", x + y).titled(title)


@drawn
def blend_rows() -> Picture:
    with brand("x", 2) as x, brand("y", 3) as y:
        a, b = x.vec(Tensor([2.0, 4.0])), y.vec(Tensor([10.0, 20.0, 30.0]))
        return rows({"x": a, "y": b}, {"blend(x, y)": (a + b) / 2})


@drawn
def in_and_out() -> Picture:
    return journey(lambda x: x * 10, Tensor([[1, 2, 3], [4, 5, 6]]), in_axes=1, out_axes=0)


@drawn
def tree_axes() -> Picture:
    params = {"layers": [Tensor.ones(5, 4), Tensor.ones(5, 2)], "scale": Tensor([0.5]), "last": Tensor.ones(2, 5)}
    return tree(params, {"layers": 0, "scale": None, "last": 1}, name="params", brand="p")


def scores(draw: Callable[..., Picture]) -> Picture:
    """Return the result of `draw` for each user and each item."""
    with brand("user", 2) as user, brand("item", 3) as item:
        return draw(user.vec(Tensor([[1, 0], [2, 1]])), item.vec(Tensor([[1, 1], [0, 5], [3, 0]])))


@drawn
def nested() -> Picture:
    return scores(lambda user, item: cells((user * item).sum(), "score(user, item)"))


@drawn
def nested_rows() -> Picture:
    def draw(user: Vec[S], item: Vec[S1]) -> Picture:
        norm, total = (item * item).sum(), user.sum()
        return rows({"norm": norm, "user.sum()": total}, {"norm + user.sum()": norm + total})

    return scores(draw)


# ---- the course, chapter 5 ----


def squared_sum(w: Vec[S], x: Vec[S1]) -> Vec[S | S1]:
    return (w * x).sum().square()


@drawn
def gradient_of_what_is_shared() -> Picture:
    w, points = Tensor([1.0, 2.0]), Tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    with brand("x", 3) as b:
        x = b.vec(points)
        each = grad(squared_sum)(w, x)
        return flow(
            beside(cells(w, "w"), cells(x, "x")),
            cells(each, "grad(loss)(w, x)"),
            cells(b.unvec(each).sum(0), "grad of the sum of the losses, for w"),
            arrows=["backward, for each example: w was repeated", "what was repeated is summed"],
            title="The gradient with respect to what the examples share",
        )


@drawn
def jacobian_by_columns() -> Picture:
    x, eye = Tensor([1.0, 2.0]), Tensor.eye(2)
    with brand("column", 2) as b:
        v = b.vec(eye)
        dy = jvp(lambda x: (x * x).cumsum(), (x,), (v,))[1]
        return flow(
            cells(v, "v"),
            cells(dy, "jvp(f, (x,), (v,))[1]"),
            cells(b.unvec(dy, axis=1), "jacfwd(f)(x)", axis=1, brand="column"),
            arrows=["push the tangent forward", "out_axes=1"],
            title="A Jacobian is a vmap of jvp over the columns of the identity",
        )


@drawn
def branch_of_each_example() -> Picture:
    with brand("x", 3) as b:
        x = b.vec(Tensor([4.0, 0.0, -1.0]))
        out = cond(x > 0, lambda x: x.sqrt(), lambda x: 0 * x, x)
        return flow(
            cells(x, "x"),
            cells(x > 0, "x > 0"),
            beside(cells(x.sqrt(), "x.sqrt()"), cells(0 * x, "0 * x")),
            cells(out, "cond"),
            arrows=["the predicate of each", "both branches are computed", "each takes its own"],
            title="cond under vmap",
        )


def collatz_step(n: Tensor) -> Tensor:
    return (n % 2 == 0).where(n // 2, 3 * n + 1)


@drawn
def steps_of_a_while_loop() -> Picture:
    n = Tensor([1, 2, 3])
    steps = [n]
    while (going := n > 1).any().item():
        n = going.where(collatz_step(n), n)
        steps.append(n)
    table = cells(Tensor.stack(*steps), "a line for each step", axis=1, brand="n")
    return table.titled("while_loop under vmap: who is done keeps its value")


@drawn
def carry_of_a_scan() -> Picture:
    with brand("x", 3) as b:
        c, x = Tensor(0.0), b.vec(Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
        return rows({"carry": c, "x[0]": x[0]}, {"next carry": c + x[0]})


@drawn
def psum_leaves_the_brand() -> Picture:
    with brand("i", 3) as b:
        x = b.vec(Tensor([1.0, 2.0, 5.0]))
        total = psum(x, b)
        return flow(
            cells(x, "x"),
            cells(total, 'psum(x, "i")'),
            cells(x / total, 'x / psum(x, "i")'),
            arrows=["all of them leave, and are summed", "shared by all, as any other value"],
            title="psum: the row loses the brand",
        )


@drawn
def derivatives_across_examples() -> Picture:
    x = Tensor([1.0, 2.0, 3.0])

    def results(x: Tensor) -> Tensor:
        return vmap(lambda x: x * psum(x, "i"), axis_name="i")(x)

    table = jacrev(results)(x)
    return flow(
        cells(table, "result of an example (down), by the x of another (along)", axis=0, brand="i"),
        cells(table.sum(0), "vmap(grad(f))(x)", axis=0, brand="i"),
        arrows=["the sum of each column"],
        title="The derivative of what examples exchange",
    )


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, make in PICTURES.items():
        make().save(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main()
