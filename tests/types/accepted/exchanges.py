"""Collectives, scans and loops whose axes fit."""

from typing import assert_type

from tinygrad import Tensor

from branded import (
    Brand,
    all_gather,
    all_to_all,
    associative_scan,
    axis_index,
    axis_size,
    fori_loop,
    psum_scatter,
    scan,
    tree,
    vmap,
)


class Users(Brand): ...


v, M, N = Tensor.ones(3), Tensor.ones(3, 3), Tensor.ones(3, 4)

# --- axes of collectives
assert vmap(lambda x: all_gather(x, "i", axis=-1), axis_name="i", out_axes=None)(N).shape == (4, 3)
assert vmap(lambda x: all_gather(x, "i", tiled=True), axis_name="i", out_axes=None)(N).shape == (12,)
assert vmap(lambda x: all_to_all(x, Users, 0, 0), axis_name=Users)(M).shape == (3, 3)
assert vmap(lambda x: all_to_all(x, "i", 0, 1, tiled=True), axis_name="i")(Tensor.ones(2, 4, 3)).shape == (2, 2, 6)
assert vmap(lambda x: psum_scatter(x, "i"), axis_name="i")(Tensor.ones(3, 3, 2)).shape == (3, 2)
assert vmap(lambda x: psum_scatter(x, "i", tiled=True), axis_name="i")(Tensor.ones(3, 6)).shape == (3, 2)
assert vmap(lambda x: x * axis_index("i") / axis_size("i"), axis_name="i")(N).shape == (3, 4)
both = vmap(lambda y: vmap(lambda x: all_gather(x, ("i", "j")), axis_name="j")(y), axis_name="i", out_axes=None)
assert_type(vmap(lambda x: all_gather({"a": x}, "i", axis=1)["a"], axis_name="i", out_axes=None)(N), Tensor)

# --- scans, and carries that are numbers
assert associative_scan(lambda a, b: a + b, N).shape == (3, 4)
assert vmap(lambda x: associative_scan(lambda a, b: a * b, x))(N).shape == (3, 4)
assert scan(lambda c, x: (c + x.sum(), c), 0.0, N)[1].shape == (3,)
assert vmap(lambda x: fori_loop(0, 3, lambda i, c: c + x, 1.0))(v).shape == (3,)


# --- functions that test the number of axes
def total(x: Tensor) -> Tensor:
    if x.ndim == 0:
        return x
    n = x.shape[0] + len(x)
    return sum((row for row in x), Tensor(0.0)) * n


assert vmap(total)(v).shape == (3,)
assert vmap(total)(M).shape == (3,)

# --- the leaves of a tree
assert vmap(lambda p: sum(x.sum() for x in tree.leaves(p)))((M, {"b": v, "a": N})).shape == (3,)
leaves, structure = tree.flatten({"b": M, "a": v})
assert leaves[0].shape == (3,) and leaves[1].shape == (3, 3)
