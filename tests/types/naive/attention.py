"""Attention of each sequence of a batch, several heads."""

from tinygrad import Tensor

from branded import vmap


# --- attention of each sequence of a batch, several heads
def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.transpose() * q.shape[-1] ** -0.5
    return scores.softmax(-1) @ v


def head(x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor) -> Tensor:
    q, k, v = x @ wq, x @ wk, x @ wv
    return attend(q, k, v)


def layer(x: Tensor, weights: dict[str, Tensor]) -> Tensor:
    heads: Tensor = vmap(head, in_axes=(None, 0, 0, 0))(x, weights["q"], weights["k"], weights["v"])
    return heads.mean(0)


weights = {name: Tensor.ones(2, 4, 4) for name in "qkv"}
batch = Tensor.ones(3, 5, 4)
out: Tensor = vmap(lambda x: layer(x, weights))(batch)
again: Tensor = vmap(layer, in_axes=(0, None))(batch, weights)
assert out.shape == again.shape == (3, 5, 4)
