"""The operations of tinygrad: results have the brands of all operands."""

from typing import Never, TypeVar, assert_type

from tinygrad import Tensor, dtypes, nn

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
S3 = TypeVar("S3", bound=Brand)
x = Tensor([1.0, 2.0])
W = Tensor.ones(3, 3)


# --- arithmetic of two rows
def arithmetic(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(a + b, Vec[S1 | S2])
    assert_type(a - b, Vec[S1 | S2])
    assert_type(a * b, Vec[S1 | S2])
    assert_type(a / b, Vec[S1 | S2])
    assert_type(a // b, Vec[S1 | S2])
    assert_type(a % b, Vec[S1 | S2])
    assert_type(a**b, Vec[S1 | S2])


# --- arithmetic of one row is a zip
def zipped(a: Vec[S], b: Vec[S]) -> None:
    assert_type(a + b, Vec[S])
    assert_type(a @ b, Vec[S])
    assert_type(a.maximum(b), Vec[S])


# --- numbers on either side
def numbers(a: Vec[S]) -> None:
    assert_type(a + 1, Vec[S])
    assert_type(2.0 * a, Vec[S])
    assert_type(1 - a, Vec[S])
    assert_type(1 / a, Vec[S])
    assert_type(2**a, Vec[S])
    assert_type(7 // a, Vec[S])
    assert_type(7 % a, Vec[S])


# --- plain tensors on either side
def plain(a: Vec[S]) -> None:
    assert_type(a + x, Vec[S])
    assert_type(x + a, Vec[S])
    assert_type(x - a, Vec[S])
    assert_type(x * a, Vec[S])
    assert_type(x / a, Vec[S])
    assert_type(x**a, Vec[S])
    assert_type(W @ a, Vec[S])
    assert_type(a @ W, Vec[S])


# --- plain tensors only
assert_type(x + x, Tensor)
assert_type(x * 2 - 1, Tensor)
assert_type((W @ x.reshape(2, 1).expand(2, 3).T).sum(), Tensor)


# --- comparisons
def comparisons(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(a < b, Vec[S1 | S2])
    assert_type(a <= b, Vec[S1 | S2])
    assert_type(a > b, Vec[S1 | S2])
    assert_type(a >= b, Vec[S1 | S2])
    assert_type(a == b, Vec[S1 | S2])
    assert_type(a != b, Vec[S1 | S2])
    assert_type(a > 0, Vec[S1])
    assert_type(0 < a, Vec[S1])  # noqa: SIM300
    assert_type(x < a, Vec[S1])
    assert_type(a == x, Vec[S1])


# --- bits
def bits(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(a & b, Vec[S1 | S2])
    assert_type(a | b, Vec[S1 | S2])
    assert_type(a ^ b, Vec[S1 | S2])
    assert_type(~a, Vec[S1])
    assert_type(a << 2, Vec[S1])
    assert_type(a >> b, Vec[S1 | S2])
    assert_type((a > 0) & (b < 1), Vec[S1 | S2])


# --- signs
def signs(a: Vec[S]) -> None:
    assert_type(-a, Vec[S])
    assert_type(a.abs(), Vec[S])
    assert_type(a.neg(), Vec[S])


# --- in-place operators of one row
def in_place(a: Vec[S], b: Vec[S]) -> Vec[S]:
    c = a * 2
    c += b
    c *= 2
    return c


# --- functions of one value keep its row
def unary(a: Vec[S]) -> Vec[S]:
    return a.exp().log().sin().sqrt().relu().sigmoid().tanh().gelu().softmax().abs().square().float()


# --- reductions keep the row: they reduce within an example
def reductions(a: Vec[S]) -> None:
    assert_type(a.sum(), Vec[S])
    assert_type(a.mean(0), Vec[S])
    assert_type(a.max(axis=-1, keepdim=True), Vec[S])
    assert_type(a.min(), Vec[S])
    assert_type(a.std(), Vec[S])
    assert_type(a.argmax(), Vec[S])
    assert_type(a.all(), Vec[S])
    assert_type(a.logsumexp(), Vec[S])
    assert_type(a.cumsum(), Vec[S])


# --- movements keep the row
def movements(a: Vec[S]) -> None:
    assert_type(a.reshape(2, -1), Vec[S])
    assert_type(a.reshape((2, 2)), Vec[S])
    assert_type(a.permute(1, 0), Vec[S])
    assert_type(a.expand(3, 2), Vec[S])
    assert_type(a.flip(0), Vec[S])
    assert_type(a.pad((1, 1)), Vec[S])
    assert_type(a.unsqueeze(0).squeeze(), Vec[S])
    assert_type(a.flatten(), Vec[S])
    assert_type(a.T, Vec[S])
    assert_type(a.transpose(0, 1), Vec[S])
    assert_type(a.repeat(2), Vec[S])
    assert_type(a.cast(dtypes.int), Vec[S])


# --- matmul, dot and einsum
def products(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(a @ b, Vec[S1 | S2])
    assert_type(a.dot(b), Vec[S1 | S2])
    assert_type(a.matmul(b), Vec[S1 | S2])
    assert_type(Tensor.einsum("i,i->", a, a), Vec[S1])
    assert_type(Tensor.einsum("ij,j->i", W, b), Vec[S2])


# --- einsum of plain tensors
assert_type(Tensor.einsum("ij,jk->ik", W, W), Tensor)


# --- where, by all three of its rows
def where(c: Vec[S1], a: Vec[S2], b: Vec[S3]) -> None:
    assert_type(c.where(a, b), Vec[S1 | S2 | S3])
    assert_type((c > 0).where(a, 0), Vec[S1 | S2])
    assert_type((c > 0).where(0.0, 1.0), Vec[S1])
    assert_type((x > 0).where(a, b), Vec[S2 | S3])


# --- maximum, minimum, clip, lerp
def bounds(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(a.maximum(b), Vec[S1 | S2])
    assert_type(a.minimum(0), Vec[S1])
    assert_type(a.clip(0, 1), Vec[S1])
    assert_type(a.clip(b, None), Vec[S1 | S2])
    assert_type(a.lerp(b, 0.5), Vec[S1 | S2])
    assert_type(x.maximum(a), Vec[S1])


# --- gather and scatter
def gathers(a: Vec[S1], i: Vec[S2], v: Vec[S3]) -> None:
    assert_type(a.gather(0, i), Vec[S1 | S2])
    assert_type(a.scatter(0, i, v), Vec[S1 | S2 | S3])
    assert_type(a.scatter(0, i, 1.0), Vec[S1 | S2])
    assert_type(a.scatter_reduce(0, i, v, "sum"), Vec[S1 | S2 | S3])
    assert_type(x.gather(0, i), Vec[S2])


# --- stack and cat as methods
def joins(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(a.stack(b), Vec[S1 | S2])
    assert_type(a.cat(b, dim=0), Vec[S1 | S2])
    assert_type(a.cat(x, dim=0), Vec[S1])


# --- stack and cat as functions
def static_joins(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(Tensor.stack(a, b), Vec[S1 | S2])
    assert_type(Tensor.cat(a, b, dim=0), Vec[S1 | S2])
    assert_type(Tensor.stack(a, x), Vec[S1])
    assert_type(Tensor.stack(x, a), Vec[S1])
    assert_type(Tensor.stack(x, x), Tensor)


# --- a list of one row, stacked
def star_joins(a: Vec[S]) -> Vec[S]:
    return Tensor.stack(*[a * i for i in range(3)])


# --- indexing by numbers and slices
def indexing(a: Vec[S]) -> None:
    assert_type(a[0], Vec[S])
    assert_type(a[1:, ::2], Vec[S])
    assert_type(a[..., None], Vec[S])
    assert_type(a[-1][0], Vec[S])
    assert_type(a[[0, 1]], Vec[S])


# --- indexing by values
def lookups(a: Vec[S1], i: Vec[S2]) -> None:
    assert_type(a[i], Vec[S1 | S2])
    assert_type(W[i], Vec[S2])
    assert_type(a[0, i], Vec[S1 | S2])
    assert_type(a[x.int()], Vec[S1])


# --- functions that return tuples
def tuples(a: Vec[S]) -> None:
    assert_type(a.split(2), tuple[Vec[S], ...])
    assert_type(a.topk(2), tuple[Vec[S], Vec[S]])
    assert_type(a.sort(), tuple[Vec[S], Vec[S]])
    assert_type(a.var_mean(), tuple[Vec[S], Vec[S]])
    values, indices = a.topk(1)
    assert_type(values + indices, Vec[S])


# --- chunk gives a list
def chunks(a: Vec[S]) -> Vec[S]:
    assert_type(a.chunk(2), list[Vec[S]])
    first, second = a.chunk(2)
    return first + second


# --- linear and conv2d, by the rows of the weights too
def layers(a: Vec[S1], w: Vec[S2], b: Vec[S3]) -> None:
    assert_type(a.linear(w, b), Vec[S1 | S2 | S3])
    assert_type(a.linear(w), Vec[S1 | S2])
    assert_type(a.linear(W), Vec[S1])
    assert_type(a.conv2d(w), Vec[S1 | S2])
    assert_type(a.conv2d(w, b, padding=1), Vec[S1 | S2 | S3])
    assert_type(x.conv2d(w), Vec[S2])


# --- attention
def attention(q: Vec[S1], k: Vec[S2], v: Vec[S3]) -> None:
    assert_type(q.scaled_dot_product_attention(k, v), Vec[S1 | S2 | S3])
    assert_type(q.scaled_dot_product_attention(k, v, is_causal=True), Vec[S1 | S2 | S3])
    assert_type(q.scaled_dot_product_attention(q, q), Vec[S1])


# --- losses
def losses(a: Vec[S1], t: Vec[S2]) -> None:
    assert_type(a.cross_entropy(t), Vec[S1 | S2])
    assert_type(a.binary_crossentropy(t), Vec[S1 | S2])
    assert_type(a.sparse_categorical_crossentropy(t), Vec[S1 | S2])


# --- gradients, also with respect to shared values
def gradients(a: Vec[S1], w: Vec[S2]) -> None:
    assert_type((a * w).sum().gradient(a), list[Vec[S1 | S2]])
    assert_type((a * W).sum().gradient(W), list[Vec[S1]])


# --- per-example gradients
w = Tensor([1.0, 2.0])
assert_type(vmap(lambda r: (r * w).sum().square().gradient(w)[0])(Tensor.ones(3, 2)), Tensor)

# --- gradients of all examples at once
assert_type(vmap(lambda r: (r * w).sum().square().gradient(w, r))(Tensor.ones(3, 2)), list[Tensor])


# --- shape, dtype and device are plain
def facts(a: Vec[S]) -> None:
    assert_type(a.ndim, int)
    assert_type(len(a), int)
    assert_type(a.is_floating_point(), bool)
    assert_type(a.dtype.itemsize, int)
    print(a.shape[0])


# --- a branch on the shape
def by_shape(a: Vec[S]) -> Vec[S]:
    if a.ndim > 1:
        return a.sum(0)
    return a if len(a) > 2 else a * 2


# --- new tensors of the type of a value
def likes(a: Vec[S]) -> None:
    assert_type(a.zeros_like(), Vec[S])
    assert_type(a.full_like(2.0), Vec[S])
    assert_type(Tensor.zeros(2), Tensor)
    assert_type(Tensor.arange(3) + a, Vec[S])


# --- iteration over the first axis of an example
def iteration(a: Vec[S]) -> Vec[S]:
    out = a[0] * 0
    for e in a:
        assert_type(e, Vec[S])
        out = out + e
    return out


# --- unpacking an example
assert_type(vmap(lambda p: (lambda u, v: u * v)(*p))(Tensor.ones(3, 2)), Tensor)


# --- sum() over a list of one row
def summed(a: Vec[S]) -> Vec[S]:
    return sum([a * i for i in range(1, 3)], start=a)


# --- reads of plain tensors
assert_type(x.sum().item(), float | int | bool)
assert_type(x.realize(), Tensor)
x.numpy().sum()
x.tolist()

# --- reads of the results of vmap
vmap(lambda a: a * 2)(x).numpy().sum()
assert_type(vmap(lambda a: a * 2)(x).realize(), Tensor)


# --- reads of a closed-over plain tensor in a body
def scaled_by_constant(a: Vec[S]) -> Vec[S]:
    return a * float(x.sum().item())


# --- reads of the empty row
def empty_row(a: Vec[Never]) -> memoryview:
    return a.realize(a).data()


# --- star-arguments of any iterable
def iterables(a: Vec[S1], vs: list[Vec[S2]], d: dict[str, Vec[S2]]) -> None:
    assert_type(Tensor.stack(*(v.exp() for v in vs)), Vec[S2])
    assert_type(Tensor.stack(*map(Vec.exp, vs)), Vec[S2])
    assert_type(a.stack(*reversed(vs)), Vec[S1 | S2])
    assert_type(Tensor.einsum("i,i->", *d.values()), Vec[S2])
    assert_type(a.gradient(*d.values()), list[Vec[S1 | S2]])


# --- sizes are ints
def sizes(a: Vec[S1]) -> None:
    assert_type(a.shape, tuple[int, ...])
    assert_type(a.numel(), int)
    for _ in range(a.shape[0]):
        pass


# --- pooling gives one tensor, or two if it is asked
def pooled(a: Vec[S1]) -> None:
    assert_type(a.max_pool2d().flatten(), Vec[S1])
    assert_type(a.max_pool2d(return_indices=True), tuple[Vec[S1], Vec[S1]])


# --- layers and functions in a row
model = [nn.Linear(2, 3), Tensor.relu, nn.Linear(3, 2)]
assert_type(vmap(lambda a: a.sequential(model))(Tensor.ones(4, 2)), Tensor)
