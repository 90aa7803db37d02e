"""Hidden states and outputs of a recurrent cell for a batch, with a cache of the last states.

Mistake: escape: the state of one example is written into a cache that outlives the vmap.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def run(w: Tensor, states: Tensor, inputs: Tensor, cache: dict[str, Tensor]) -> Tensor:
    def cell(h: Vec[S1, Tensor], x: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
        new = (w @ h + x).clip(-1.0, 1.0)  # bug+: cache["state"] = new
        return new

    out = vmap(cell)(states, inputs)
    cache.setdefault("state", out)
    return out.sum(1)


def main() -> None:
    cache: dict[str, Tensor] = {}
    out = run(Tensor.eye(2), Tensor([[0.5, 0.0], [0.0, 0.0]]), Tensor([[0.25, 0.0], [9.0, 0.0]]), cache)
    assert out.tolist() == [0.75, 1.0]
    assert (cache["state"] + 0.0).tolist() == [[0.75, 0.0], [1.0, 0.0]]


if __name__ == "__main__":
    main()
