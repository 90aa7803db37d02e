"""Axes and sizes that do not fit, in collectives, loops and options."""

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

# --- axes of collectives that the value does not have
vmap(lambda x: all_gather(x, "i", axis=1), axis_name="i")(v)  # E: all_gather: axis=1 is out of range for 1 axis
vmap(lambda x: all_to_all(x, "i", 1, 0), axis_name="i")(M)  # E: all_to_all: split_axis=1 is out of range for 1 axis
vmap(lambda x: all_to_all(x, Users, 0, 1), axis_name=Users)(M)  # E: all_to_all: concat_axis=1 is out of range
vmap(lambda x: psum_scatter(x, "i"), axis_name="i")(v)  # E: psum_scatter: scatter_dimension=0 is out of range for 0

# --- an axis that cannot be split into one piece for each example
vmap(lambda x: all_to_all(x, "i", 0, 0), axis_name="i")(N)  # E: all_to_all: brand `i` has 3 examples, and axis 0
vmap(lambda x: psum_scatter(x, Users), axis_name=Users)(N)  # E: psum_scatter: brand `Users` has 3 examples
vmap(lambda x: psum_scatter(x, "i", tiled=True), axis_name="i")(N)  # E: psum_scatter: brand `i` has 3 examples

# --- the shapes of their results
vmap(lambda x: all_gather(x, "i") + x, axis_name="i")(N).sum(axis=3)  # E: sum: axis 3 of a tensor with 3 axes
vmap(lambda x: all_gather(x, "i", tiled=True) + x, axis_name="i")(N)  # E: +: `12` differs from `4` at axis -1
vmap(lambda x: (x * axis_index("i") / axis_size("i")).sum(axis=1), axis_name="i")(N)  # E: sum: axis 1 of a tensor

# --- an associative scan that changes its operands, and one of scalars
associative_scan(lambda a, b: (a + b).sum(), M)  # E: associative_scan: the result changes its shape
vmap(lambda x: associative_scan(lambda a, b: a + b, x))(v)  # E: associative_scan: axis 0 is out of range

# --- a number as the carry, and a tensor after the first step
scan(lambda c, x: (c + x, c), 0.0, M)  # E: scan: carry changes its type from step to step
vmap(lambda x: fori_loop(0, 3, lambda i, c: c + x, 1.0))(M)  # E: fori_loop: carry changes its type from step to step


# --- a scalar in a loop, its length and its shape
def total(x: Tensor) -> Tensor:
    n = x.shape[0]  # E: shape: axis 0 of a tensor with no axes
    for row in x:  # E: iter: a 0-d tensor has nothing to iterate over
        n += 1
        row + n
    return x * sum(row for row in x) * len(x)  # E: iter: a 0-d tensor has nothing  E: len: len() of a 0-d tensor


vmap(total)(v)

# --- the leaves of a tree
vmap(lambda p: sum(x.sum(axis=1) for x in tree.leaves(p)))((v, v))  # E: sum: axis 1 of a tensor with no axes
leaves, structure = tree.flatten({"b": M, "a": v})
leaves[0] + leaves[1] + Tensor.ones(4)  # E: +: `3` differs from `4` at axis -1

# --- sizes that are too small
vmap(lambda x: x, chunk_size=0)(v)  # E: chunk_size: 0 is not a size
vmap(lambda x: x, axis_size=-1)(v)  # E: axis_size: -1 is not a size

# --- a number of axes that only the values show
n = 3
vmap(lambda x, y: x + y, in_axes=(0, None) * n)(v, v)  # E: in_axes: 6 axes for 2 positional arguments


def zipped(*xs: Tensor) -> Tensor:
    vmap(lambda k, x: k * x.item(), in_axes=(None, 0))(2.0, *xs)  # E: item: a value that varies over "x"
    return vmap(lambda x, y: x + y, in_axes=(0,) * (len(xs) + 1))(*xs)  # E: in_axes: 3 axes for 2 positional


zipped(v, v)
