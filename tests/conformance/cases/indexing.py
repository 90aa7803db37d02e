"""Indexing with integers, slices, None, Ellipsis, lists, tensors, and mixtures of them."""

from tinygrad import Tensor, Variable, dtypes

from ..table import bools, family, index, real
from .closures import INDEX, MASK, K, V

case = family("Indexing")
THIRD = Variable("third", 0, 3).bind(2)

case("integers", "__getitem__", lambda x: (x[1], x[-1], x[1, 2], x[0][-1]), real(3, 4))
case("slices", "__getitem__", lambda x: (x[1:], x[:2], x[1:3, ::2], x[:, -2:]), real(4, 5))
case("slices with steps", "__getitem__", lambda x: (x[::2], x[1::3], x[::-1], x[3:0:-2], x[-1:0:-1]), real(5))
case("empty slices", "__getitem__", lambda x: (x[2:2], x[:0], x[3:1], x[5:]), real(4, 2))
case(
    "None and Ellipsis",
    "__getitem__",
    lambda x: (x[None], x[..., None], x[:, None, 0], x[..., 1], x[None, ..., None]),
    real(3, 4),
)
case("everything", "__getitem__", lambda x: (x[:], x[...], x[()]), real(3))
case("a scalar", "__getitem__", lambda x: (x[None], x[...], x[()]), real())
case(
    "integers, slices and None",
    "__getitem__",
    lambda x: x[1] + x[::2][0] + x[None, -1][0] + x[:, 0].sum() + x[..., 1:3].sum(),
    real(4, 4),
)
case("a bound variable", "__getitem__", lambda x: x[THIRD] * 2, real(4, 2))

case("lists", "__getitem__", lambda x: (x[[0, 2]], x[[-1, 1, 1]], x[:, [3, 0]], x[[[0, 1], [2, 0]]]), real(3, 4))
case(
    "tuples of lists",
    "__getitem__",
    lambda x: (x[[0, 2], [1, 3]], x[[0, 2], 1], x[0, [1, 3]], x[[[0], [1]], [1, 3]]),
    real(3, 4),
)
case("a list and None", "__getitem__", lambda x: (x[None, [0, 2]], x[[0, 2], None], x[..., [1, 0]]), real(3, 4))
case(
    "lists around a slice",
    "__getitem__",
    lambda x: (
        x[[0, 1], :, [1, 2]],
        x[
            :,
            [0, 1],
            :,
        ][..., [0]],
        x[[0, 1], ..., 1],
    ),
    real(2, 3, 3),
)
case(
    "a constant tensor",
    "__getitem__",
    lambda x: (x[Tensor([0, 2])], x[:, Tensor([[1, 0], [3, 3]])], x[INDEX - 3]),
    real(4, 4),
)
case("a tensor", "__getitem__", lambda x, i: (x[i], x[:, i], x[i, 1:]), real(4, 4), index(3))
case("a scalar tensor", "__getitem__", lambda x, i: (x[i], x[:, i], x[i, i]), real(4, 4), index())
case("a tensor of rank 2", "__getitem__", lambda x, i: (x[i], x[..., i]), real(4, 4), index(2, 3))
case("negative entries", "__getitem__", lambda x, i: x[i - 4], real(4, 2), index(3))
case("entries out of range", "__getitem__", lambda x, i: x[i], real(3), index(4, high=6))
case("two tensors", "__getitem__", lambda x, i, j: x[i, j], real(4, 4), index(3), index(3))
case(
    "two tensors that broadcast",
    "__getitem__",
    lambda x, i, j: (x[i.unsqueeze(1), j], x[i, j[0]]),
    real(4, 4),
    index(2),
    index(3),
)
case(
    "two tensors around a slice",
    "__getitem__",
    lambda x, i, j: (x[i, :, j], x[:, i, j]),
    real(4, 3, 4),
    index(2),
    index(2),
)
case(
    "tensor, None and slice",
    "__getitem__",
    lambda x, i: (x[:, i, None], x[None, i], x[i, ::2], x[::-1, i]),
    real(3, 4),
    index(2, high=3),
)
case(
    "tensor and integer", "__getitem__", lambda x, i: (x[1, i], x[i, -1], x[i, 0, :1]), real(3, 3, 2), index(2, high=3)
)
case("tensor and list", "__getitem__", lambda x, i: (x[i, [0, 1]], x[[1, 0], i]), real(4, 4), index(2))
case(
    "tensors in other integer dtypes",
    "__getitem__",
    lambda x, i, j: (x[i], x[j]),
    real(4),
    index(3, dtype=dtypes.uint8),
    index(2, dtype=dtypes.int64),
)
case("closure[x]", "__getitem__", lambda i: (K[i], K[:, i], K[i, i], V[i]), index(3))
case("closure[scalar x]", "__getitem__", lambda i: (V[i], K[i], K[1, i]), index())
case("closure[x, closure]", "__getitem__", lambda i: (K[i, INDEX], K[INDEX, i]), index(3))
case("closure[x, slice, x]", "__getitem__", lambda i: (K.reshape(2, 2, 4)[:, i % 2, 1:], K[i, None]), index(2))
case("x[closure]", "__getitem__", lambda x: (x[INDEX], x[:, INDEX], x[INDEX, INDEX]), real(4, 4))
case("x[where]", "__getitem__ where", lambda x, m: x[m.where(1, 0)], real(4), bools(3))
case("x[argmax]", "__getitem__ argmax", lambda x: (x[x[:, 0].argmax()], x[x.argmax(0)]), real(4, 3))
case("x[i][j]", "__getitem__", lambda x, i, j: x[i][j] * x[j[0]][0], real(4, 4), index(3), index(2, high=3))

case("gather", "gather", lambda x, i: x.gather(0, i), real(4), index(3))
case(
    "gather along each axis",
    "gather",
    lambda x, i: (x.gather(0, i), x.gather(1, i), x.gather(-1, i[:, :1])),
    real(4, 4),
    index(3, 2),
)
case("closure.gather(x)", "gather", lambda i: (V.gather(0, i), K.gather(1, i.reshape(3, 1))), index(3))
case("x.gather(closure)", "gather", lambda x: x.gather(0, INDEX), real(4))
case("one_hot", "one_hot", lambda i: (i.one_hot(4), i.one_hot(6)), index(2, 3))
case("one_hot of a scalar", "one_hot", lambda i: i.one_hot(4), index())
case(
    "masked_select with a size",
    "masked_select",
    lambda x, m: (x.masked_select(m, size=4), x.masked_select(x > 0, size=2, fill_value=-1)),
    real(4),
    bools(4),
)
case(
    "masked_select with a closure",
    "masked_select",
    lambda x: (x.masked_select(MASK, size=3), V.masked_select(x > 0, size=4)),
    real(4),
)
case(
    "nonzero with a size",
    "nonzero",
    lambda x, i: ((x > 0).nonzero(size=4), i.nonzero(size=3, fill_value=-1)),
    real(4),
    index(2, 2, high=2),
)
case("nonzero of a scalar", "nonzero", lambda x: x.nonzero(size=1), real())
