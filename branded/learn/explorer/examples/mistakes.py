"""Mistakes, each with the same program as it should be."""

from tinygrad import Tensor

from branded import psum, random, scan, vmap

XS = Tensor([-1.0, 2.0, 3.0])
ROWS = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
TWO, THREE = Tensor([10.0, 20.0]), Tensor([10.0, 20.0, 30.0])


def weighted(users: Tensor = ROWS, weights: Tensor = TWO) -> Tensor:
    """Three users and two weights: without in_axes both are mapped, and do not go side by side."""
    return vmap(lambda user, w: (user * w).sum())(users, weights)


def weighted_mended(users: Tensor = ROWS, weights: Tensor = TWO) -> Tensor:
    """None for what all users share: each of them meets both weights."""
    return vmap(lambda user, w: (user * w).sum(), in_axes=(0, None))(users, weights)


def leaky(xs: Tensor = XS) -> Tensor:
    """Python's `if` wants one truth value, and here there are three."""
    return vmap(lambda x: x if x > 0 else x * 0.1)(xs)


def leaky_mended(xs: Tensor = XS) -> Tensor:
    """Both sides are computed, and each example takes its own."""
    return vmap(lambda x: (x > 0).where(x, x * 0.1))(xs)


def shifted(rows: Tensor = ROWS, offsets: Tensor = THREE) -> Tensor:
    """Add offsets to rows of two entries: the three offsets are one for each row, not one for each entry."""
    return vmap(lambda row: row + offsets)(rows)


def shifted_mended(rows: Tensor = ROWS, offsets: Tensor = THREE) -> Tensor:
    """Map the offsets next to the rows: each row gets its own."""
    return vmap(lambda row, offset: row + offset)(rows, offsets)


def kept(xs: Tensor = XS) -> Tensor:
    """Keep a value that varies over a brand. Once the brand is closed, no example is meant."""
    squares = []

    def double(x: Tensor) -> Tensor:
        squares.append(x * x)
        return x * 2

    doubled = vmap(double)(xs)
    return doubled + squares[0].tolist()


def kept_mended(xs: Tensor = XS) -> Tensor:
    """Return several values: vmap gives each of them an axis."""
    doubled, squares = vmap(lambda x: (x * 2, x * x))(xs)
    return doubled + squares


def total(xs: Tensor = XS) -> Tensor:
    """Each example would write its own sum into the one tensor."""
    found = Tensor([0.0])
    vmap(lambda x: found.assign(found + x))(xs)
    return found


def total_mended(xs: Tensor = XS) -> Tensor:
    """psum adds over the brand, and what it gives is the same for all."""
    return vmap(lambda x: psum(x, "i"), axis_name="i", out_axes=None)(xs)


def noisy(xs: Tensor = XS) -> Tensor:
    """One number for all examples, or one for each? Nothing says it."""
    return vmap(lambda x: x + Tensor.rand())(xs)


def noisy_mended(xs: Tensor = XS) -> Tensor:
    """Use a key for each example: a number for each, the same ones in each run."""
    keys = random.split(random.key(0), 3)
    return vmap(lambda x, key: x + random.uniform(key))(xs, keys)


def shares(xs: Tensor = XS) -> Tensor:
    """Sum over a brand without a name, which psum cannot find."""
    return vmap(lambda x: x / psum(x, "i"))(xs)


def shares_mended(xs: Tensor = XS) -> Tensor:
    """Give the name where the brand is opened."""
    return vmap(lambda x: x / psum(x, "i"), axis_name="i")(xs)


def sums(rows: Tensor = ROWS) -> Tensor:
    """All steps of a loop are one program, so what it carries cannot begin as an int and go on as a float."""
    return vmap(lambda row: scan(lambda found, x: (found + x, found), Tensor(0), row)[0])(rows)


def sums_mended(rows: Tensor = ROWS) -> Tensor:
    """Begin with a float."""
    return vmap(lambda row: scan(lambda found, x: (found + x, found), Tensor(0.0), row)[0])(rows)
