"""Movement operations: shapes, axes, slices, padding, repetition."""

from tinygrad import Tensor

from ..table import bools, family, index, ints, real
from .closures import K, V

case = family("Movement")

case(
    "reshape",
    "reshape view",
    lambda x: (x.reshape(2, 6), x.reshape((4, -1)), x.view(12), x.reshape(None, 2, 2)),
    real(3, 4),
)
case("reshape of a scalar", "reshape", lambda x: (x.reshape(1, 1), x.reshape(1).reshape(())), real())
case("flatten", "flatten", lambda x: (x.flatten(), x.flatten(1), x.flatten(0, 1), x.flatten(-2)), real(2, 3, 2))
case("unflatten", "unflatten", lambda x: (x.unflatten(0, (2, 3)), x.unflatten(-1, (2, -1))), real(6, 4))
case("permute", "permute", lambda x: (x.permute(2, 0, 1), x.permute((0, 2, 1)), x.permute(-1, 1, 0)), real(2, 3, 4))
case("transpose", "transpose", lambda x: (x.transpose(), x.transpose(0, 2), x.transpose(-1, -2)), real(2, 3, 4))
case("T", "T __matmul__", lambda x: (x.T, x.T @ x), real(2, 3))
case("permute, then reshape", "permute reshape", lambda x: x.permute(1, 0).reshape(2, 6), real(4, 3))
case(
    "rearrange",
    "rearrange",
    lambda x: (x.rearrange("(a b) c -> b (a c)", a=2), x.rearrange("a b -> b a 1"), x.rearrange("... b -> b ...")),
    real(4, 3),
)
case("squeeze", "squeeze", lambda x: (x.squeeze(), x.squeeze(0), x.squeeze(-2), x.squeeze(1)), real(1, 3, 1, 2))
case("unsqueeze", "unsqueeze", lambda x: (x.unsqueeze(0), x.unsqueeze(-1), x.unsqueeze(1)), real(3, 2))
case("unsqueeze of a scalar", "unsqueeze squeeze", lambda x: (x.unsqueeze(0), x.unsqueeze(-1), x.squeeze()), real())
case(
    "expand",
    "expand",
    lambda x: (x.unsqueeze(0).expand(2, 3), x.expand(4, -1), x.expand(2, 2, 3), x.expand(2, None)),
    real(3),
)
case("expand in the middle", "expand", lambda x: x.reshape(2, 1, 3).expand(2, 4, 3), real(2, 3))
case("expand, then reduce", "expand", lambda x: (x.reshape(3, 1).expand(3, 4) * V).sum(0), real(3))
case("repeat", "repeat", lambda x: (x.repeat(2), x.repeat(2, 3), x.repeat((1, 2))), real(3))
case(
    "repeat_interleave",
    "repeat_interleave",
    lambda x: (x.repeat_interleave(2), x.repeat_interleave(2, 0), x.repeat_interleave(3, dim=-1)),
    real(2, 3),
)

case("shrink", "shrink", lambda x: (x.shrink(((1, 3), None)), x.shrink(((0, 2), (1, 2)))), real(4, 3))
case("shrink_to", "shrink_to", lambda x: (x.shrink_to(2, None), x.shrink_to((3, 2))), real(4, 3))
case(
    "pad",
    "pad",
    lambda x: (x.pad((1, 2)), x.pad((1, 0, 0, 2)), x.pad(((0, 1), None)), x.pad((None, (2, 1)))),
    real(2, 3),
)
case("pad with a value", "pad", lambda x: (x.pad((1, 2), value=3.0), x.pad((1, 1), value=-float("inf"))), real(3))
case(
    "pad with a value of integers",
    "pad",
    lambda i, p: (i.pad((1, 2), value=7), p.pad((1, 1), value=True)),
    ints(3),
    bools(3),
)
case("negative pad", "pad", lambda x: (x.pad((-1, 2)), x.pad((1, -1, -1, 0))), real(3, 4))
for mode in ("reflect", "replicate", "circular"):
    case(
        f"pad, {mode}",
        "pad",
        lambda x, mode=mode: (x.pad((1, 2), mode=mode), x.pad((2, 1, 1, 0), mode=mode)),
        real(3, 4),
    )
    case(f"negative pad, {mode}", "pad", lambda x, mode=mode: x.pad((-1, 2), mode=mode), real(5))
case("pad_to", "pad_to", lambda x: (x.pad_to(4, None), x.pad_to((2, 5), value=1.5)), real(2, 3))

case("flip", "flip", lambda x: (x.flip(0), x.flip(-1), x.flip((0, 1)), x.flip(0, 1)), real(3, 4))
case("roll", "roll", lambda x: (x.roll(1), x.roll(-2, 0), x.roll((1, 3), (0, 1)), x.roll(5, -1)), real(3, 4))
case("tril", "tril", lambda x: (x.tril(), x.tril(1), x.tril(-1)), real(3, 4))
case("triu", "triu", lambda x: (x.triu(), x.triu(1), x.triu(-1)), real(2, 3, 3))
case("diag", "diag", lambda x: x.diag(), real(3))
case("diagonal", "diagonal", lambda x: (x.diagonal(), x.diagonal(1), x.diagonal(-1), x.diagonal(0, 1, 0)), real(3, 4))
case(
    "diagonal of other axes",
    "diagonal",
    lambda x: (x.diagonal(dim1=1, dim2=2), x.diagonal(dim1=-1, dim2=0)),
    real(3, 2, 3),
)
case("unfold", "unfold", lambda x: (x.unfold(0, 2, 1), x.unfold(-1, 3, 2), x.unfold(1, 2, 2)), real(3, 5))
case("meshgrid", "meshgrid", lambda x, y: (*x.meshgrid(y), *x.meshgrid(y, indexing="xy")), real(3), real(2))
case("meshgrid with a closure", "meshgrid", lambda x: (*x.meshgrid(V), *V.meshgrid(x, x)), real(2))

case("split", "split", lambda x: (*x.split(2), *x.split((1, 3)), *x.split([2, 2], dim=1)), real(4, 4))
case("chunk", "chunk", lambda x: (*x.chunk(2), *x.chunk(3, dim=1)), real(4, 5))
case("iteration", "__iter__", lambda x: tuple(row * i for i, row in enumerate(x)), real(3, 2))
case("unpacking", "__iter__", lambda x: (lambda a, b, c: a * b + c)(*x), real(3))
case("Python's sum", "__iter__", lambda x: sum(x), real(3, 2))

case("stack", "stack", lambda x, y: (x.stack(y), Tensor.stack(x, y, x), Tensor.stack(x, y, dim=1)), real(3), real(3))
case("stack at the last axis", "stack", lambda x, y: Tensor.stack(x, y, dim=-1), real(2, 3), real(2, 3))
case("stack of a list", "stack", lambda x, y: Tensor.stack([x, y], dim=1), real(3), real(3))
case("stack of scalars", "stack", lambda x, y: Tensor.stack(x, y, x + y), real(), real())
case("stack, closure first", "stack", lambda x: (Tensor.stack(V, x), V.stack(x, V, dim=1), x.stack(V)), real(4))
case("cat", "cat", lambda x, y: (x.cat(y), Tensor.cat(x, y, x), x.cat(x, dim=1)), real(2, 3), real(1, 3))
case("cat along the last axis", "cat", lambda x, y: x.cat(y, dim=-1), real(2, 3), real(2, 1))
case(
    "cat, closure first",
    "cat",
    lambda x: (V.cat(x), V.cat(x, V), x.cat(V), K.cat(x.reshape(1, 3).pad((0, 1)))),
    real(3),
)
case("cat with nothing", "cat", lambda x, e: (x.cat(e), e.cat(x)), real(3), real(0))

case(
    "stacked reductions, indexed again",
    "stack sum __getitem__",
    lambda x: Tensor.stack(x[:2].sum(), x[2:].sum())[[0, 1]],
    real(4),
)
case(
    "stacked reductions, reordered",
    "stack sum max __getitem__",
    lambda x: (Tensor.stack(x.sum(), x.max(), x.min())[[2, 0]], Tensor.stack(x[:2].sum(), x[2:].sum()).flip(0)),
    real(4),
)
case(
    "flattened, then stacked again",
    "stack flatten __getitem__",
    lambda x: (lambda flat: Tensor.stack(flat[0], flat[4], flat[8]))(
        Tensor.stack(x * x.sum(), x + x.max(), x * 2).flatten()
    ),
    real(3),
)
case(
    "entries of a sparse Jacobian",
    "stack cat flatten",
    lambda x: (
        Tensor.stack(x[0] * 2, x[1].sin(), x[2] * x[0]).reshape(3, 1).cat(x.reshape(3, 1), dim=1).flatten()[[0, 3, 4]]
    ),
    real(3),
)
case(
    "product with a stack of entries",
    "stack flatten __mul__",
    lambda z: (z[2:] * Tensor.stack((z[:2] * z[2:])[0], (z[:2] * z[2:])[1])).flatten(),
    real(4),
)
case(
    "chain of movements",
    "permute flip pad shrink reshape expand",
    lambda x: x.permute(1, 0).flip(0).pad(((1, 0), (0, 1))).shrink(((0, 3), (1, 4))).reshape(3, 3, 1).expand(3, 3, 2),
    real(3, 3),
)
case(
    "movement of integers and masks",
    "permute pad roll __getitem__",
    lambda i, p: (i.permute(1, 0).pad((1, 0)), p.roll(1, 0), i[::-1]),
    index(2, 3),
    bools(3),
)
