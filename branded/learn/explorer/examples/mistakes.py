"""Mistakes, each with the fixed program."""

from tinygrad import Tensor

from branded import psum, random, scan, vmap

XS = Tensor([-1.0, 2.0, 3.0])
ROWS = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
TWO, THREE = Tensor([10.0, 20.0]), Tensor([10.0, 20.0, 30.0])


def weighted(
    users: Tensor = ROWS, weights: Tensor = TWO
) -> Tensor:
    """Three users and two weights, both mapped."""
    return vmap(lambda user, w: (user * w).sum())(
        users, weights
    )


def weighted_fixed(
    users: Tensor = ROWS, weights: Tensor = TWO
) -> Tensor:
    """All users share the weights."""
    return vmap(
        lambda user, w: (user * w).sum(), in_axes=(0, None)
    )(users, weights)


def leaky(xs: Tensor = XS) -> Tensor:
    """`if` needs one truth value, but x has three."""
    return vmap(lambda x: x if x > 0 else x * 0.1)(xs)


def leaky_fixed(xs: Tensor = XS) -> Tensor:
    """Both sides are computed; each example takes one."""
    return vmap(lambda x: (x > 0).where(x, x * 0.1))(xs)


def shifted(
    rows: Tensor = ROWS, offsets: Tensor = THREE
) -> Tensor:
    """Three offsets are added to a row of two entries."""
    return vmap(lambda row: row + offsets)(rows)


def shifted_fixed(
    rows: Tensor = ROWS, offsets: Tensor = THREE
) -> Tensor:
    """The offsets are mapped: each row gets its own."""
    return vmap(lambda row, offset: row + offset)(rows, offsets)


def kept(xs: Tensor = XS) -> Tensor:
    """A batched value is kept after its brand is closed."""
    squares = []

    def double(x: Tensor) -> Tensor:
        squares.append(x * x)
        return x * 2

    doubled = vmap(double)(xs)
    return doubled + squares[0].tolist()


def kept_fixed(xs: Tensor = XS) -> Tensor:
    """Both values are returned; vmap batches both."""
    doubled, squares = vmap(lambda x: (x * 2, x * x))(xs)
    return doubled + squares


def total(xs: Tensor = XS) -> Tensor:
    """Each example would write into one shared tensor."""
    found = Tensor([0.0])
    vmap(lambda x: found.assign(found + x))(xs)
    return found


def total_fixed(xs: Tensor = XS) -> Tensor:
    """psum adds over the brand, once for all examples."""
    return vmap(
        lambda x: psum(x, "i"), axis_name="i", out_axes=None
    )(xs)


def noisy(xs: Tensor = XS) -> Tensor:
    """One sample for all examples, or one for each?"""
    return vmap(lambda x: x + Tensor.rand())(xs)


def noisy_fixed(xs: Tensor = XS) -> Tensor:
    """Each example has its own key, and its own sample."""
    keys = random.split(random.key(0), 3)
    return vmap(lambda x, key: x + random.uniform(key))(
        xs, keys
    )


def shares(xs: Tensor = XS) -> Tensor:
    """psum names a brand that no vmap has opened."""
    return vmap(lambda x: x / psum(x, "i"))(xs)


def shares_fixed(xs: Tensor = XS) -> Tensor:
    """vmap opens a brand with this name."""
    return vmap(lambda x: x / psum(x, "i"), axis_name="i")(xs)


def sums(rows: Tensor = ROWS) -> Tensor:
    """The carry of a loop is an int at first, then a float."""
    return vmap(
        lambda row: scan(
            lambda found, x: (found + x, found), Tensor(0), row
        )[0]
    )(rows)


def sums_fixed(rows: Tensor = ROWS) -> Tensor:
    """The carry is a float from the start."""
    return vmap(
        lambda row: scan(
            lambda found, x: (found + x, found),
            Tensor(0.0),
            row,
        )[0]
    )(rows)
