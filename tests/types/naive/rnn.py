"""A recurrent network: a scan over time, mapped over sequences."""

from tinygrad import Tensor

from branded import cond, scan, vmap


# --- a recurrent network: a scan over time, mapped over sequences
def cell(h: Tensor, x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return (w @ h + u @ x).tanh()


def run(xs: Tensor, w: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    def step(h: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        h = cell(h, x, w, u)
        return h, h.sum()

    return scan(step, Tensor.zeros(4), xs)


def classify(xs: Tensor, w: Tensor, u: Tensor) -> Tensor:
    last, sums = run(xs, w, u)
    return cond(sums.sum() > 0, lambda: last, lambda: -last)


def relu(x: Tensor, slope: float = 0.0) -> Tensor:
    return x.where(x > 0, slope) if False else (x > 0).where(x, slope * x)


w, u, batch = Tensor.ones(4, 4), Tensor.ones(4, 2), Tensor.ones(3, 6, 2)
last, sums = vmap(run, in_axes=(0, None, None))(batch, w, u)
labels: Tensor = vmap(lambda xs: relu(classify(xs, w, u), slope=0.1))(batch)
assert last.shape == labels.shape == (3, 4) and sums.shape == (3, 6)
