"""All dtypes, casts, promotion of two dtypes, and weak Python numbers."""

from tinygrad import Tensor, dtypes
from tinygrad.dtype import DType

from ..table import Arg, bools, family, index, ints, positive, real
from .closures import V

case = family("Dtypes")

FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
INTS = (
    dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64,
)  # fmt: skip
NAMES = {getattr(dtypes, name): name for name in dir(dtypes) if name[-1].isdigit()} | {dtypes.bool: "bool"}


def some(*shape: int, dtype: DType) -> Arg:
    """Return an argument of any dtype whose values survive arithmetic."""
    if dtype is dtypes.bool:
        return bools(*shape)
    return real(*shape, dtype=dtype) if dtypes.is_float(dtype) else index(*shape, dtype=dtype)


for dtype in FLOATS:
    name = NAMES[dtype]
    case(
        f"{name} arithmetic",
        "__add__ __mul__ __truediv__ __sub__",
        lambda x, y: x * y + x / (y * y + 1) - y,
        real(3, dtype=dtype),
        real(3, dtype=dtype),
    )
    case(
        f"{name} functions",
        "exp sin sqrt log2 sigmoid",
        lambda x: Tensor.stack(x.exp(), x.sin(), x.sqrt(), x.log2(), x.sigmoid()),
        positive(3, dtype=dtype),
    )
    case(
        f"{name} reductions",
        "sum mean max var",
        lambda x: Tensor.stack(x.sum(0), x.mean(0), x.max(0), x.var(0)),
        real(3, 4, dtype=dtype),
    )
    case(f"{name} softmax", "softmax", lambda x: x.softmax(), real(3, dtype=dtype))
    case(f"{name} matmul", "__matmul__", lambda x, y: x @ y, real(2, 3, dtype=dtype), real(3, 2, dtype=dtype))
    case(
        f"{name} selection",
        "where maximum cumsum",
        lambda x, y: Tensor.stack((x > y).where(x, y), x.maximum(y), x.cumsum()),
        real(3, dtype=dtype),
        real(3, dtype=dtype),
    )
for dtype in INTS:
    name = NAMES[dtype]
    case(
        f"{name} arithmetic",
        "__add__ __mul__ __sub__ __floordiv__ __mod__",
        lambda i, j: Tensor.stack(i + j * 3, i - j, i // (j + 1), i % (j + 1)),
        ints(4, dtype=dtype),
        index(4, dtype=dtype),
    )
    case(
        f"{name} bits",
        "__and__ __or__ __xor__ __invert__ __lshift__ __rshift__",
        lambda i, j: Tensor.stack(i & j, i | j, i ^ j, ~i, i << 1, i >> 1),
        index(4, dtype=dtype),
        index(4, dtype=dtype),
    )
    case(
        f"{name} reductions",
        "sum max prod",
        lambda i: (i.sum(), Tensor.stack(i.max(0), i.prod(0))),
        ints(3, 4, dtype=dtype),
    )
case("bool arithmetic", "__add__ __mul__ __and__", lambda p, q: Tensor.stack(p + q, p * q, p & q), bools(4), bools(4))
case("bool reductions", "sum mean max", lambda p: (p.sum(), p.mean(), p.max()), bools(4))
case("bool as number", "__mul__ __add__ where", lambda p, x: (p * x, p + 1, p + 1.5, p.where(2, 3)), bools(4), real(4))

for name in ("float", "half", "bfloat16", "double", "int", "long", "short", "bool"):
    case(name, name, lambda x, i, name=name: Tensor.stack(getattr(x * 3, name)(), getattr(i, name)()), real(4), ints(4))
case(
    "cast to all",
    "cast",
    lambda i: tuple(i.cast(dtype) for dtype in (*FLOATS, *INTS, dtypes.bool)),
    index(4),
    modes=("zip", "deep"),
)
case("cast by name", "cast", lambda x: (x.cast("int8"), x.cast("float64"), x.cast("uint16")), positive(4))
case(
    "cast to fp8",
    "cast float",
    lambda x: Tensor.stack(x.cast(dtypes.fp8e4m3).float(), x.cast(dtypes.fp8e5m2).float()),
    real(4),
)
case("cast chain", "int float half bool", lambda x: (x * 4).int().float().half().float() + x.bool().float(), real(4))
case(
    "bitcast", "bitcast", lambda x: (x.bitcast(dtypes.int32), x.bitcast(dtypes.uint32).bitcast(dtypes.float32)), real(4)
)
case("bitcast to smaller items", "bitcast", lambda x: (x.bitcast(dtypes.uint8), x.bitcast(dtypes.uint16)), real(2, 3))
case(
    "bitcast to larger items",
    "bitcast",
    lambda i: (i.bitcast(dtypes.uint32), i.bitcast(dtypes.uint64)),
    index(2, 8, dtype=dtypes.uint8),
)

PROMOTED = (
    (dtypes.bool, dtypes.int8), (dtypes.bool, dtypes.float64), (dtypes.int8, dtypes.uint8),
    (dtypes.int8, dtypes.float16), (dtypes.uint8, dtypes.int32), (dtypes.uint8, dtypes.bfloat16),
    (dtypes.int32, dtypes.uint64), (dtypes.int32, dtypes.float16), (dtypes.uint64, dtypes.bfloat16),
    (dtypes.uint64, dtypes.float64), (dtypes.float16, dtypes.bfloat16), (dtypes.float16, dtypes.float64),
    (dtypes.bfloat16, dtypes.float32), (dtypes.float32, dtypes.float64),
)  # fmt: skip
for a, b in PROMOTED:
    case(
        f"{NAMES[a]} with {NAMES[b]}",
        "add maximum where",
        lambda x, y: Tensor.stack(x.add(y), y.add(x), x.maximum(y), (x == y).where(x, y)),
        some(3, dtype=a),
        some(3, dtype=b),
    )
for dtype in (dtypes.bool, dtypes.uint8, dtypes.int32, dtypes.float16, dtypes.float64):
    name = NAMES[dtype]
    case(
        f"{name} with numbers",
        "__add__ __radd__ __mul__ where",
        lambda x: (x + 1, 2 + x, x * 1.5, (x == 1).where(x, 0), (x == 1).where(0.5, x)),
        some(3, dtype=dtype),
    )
    case(
        f"{name} with weak tensors",
        "__add__ __mul__ maximum",
        lambda x: (x + Tensor(1), Tensor(2) * x, Tensor(0.5) + x, x.maximum(Tensor(1))),
        some(3, dtype=dtype),
    )
case(
    "weak results",
    "where const_like",
    lambda m, x: (m.where(1, 0), m.where(1.5, 0), Tensor(2) + Tensor(3), x.const_like(2)),
    bools(3),
    real(3),
)
case("sizes as numbers", "__truediv__ __rmul__ sum", lambda x: x.sum() / x.shape[0] + x.shape[1] * x, real(3, 4))
case(
    "int over int",
    "__truediv__ mean sigmoid exp",
    lambda i, j: (i / (j + 1), i.mean(), i.sigmoid(), i.exp()),
    ints(3),
    index(3),
)
case(
    "accumulation in another dtype",
    "sum prod dot matmul",
    lambda x, y: (
        x.sum(dtype="float64"),
        x.prod(dtype="float32"),
        x.dot(y, dtype="float32"),
        x.matmul(y, dtype=dtypes.float64),
    ),
    real(4, dtype=dtypes.float16),
    real(4, dtype=dtypes.float16),
)
case("half with closure of float", "__add__ __matmul__", lambda x: (x + V, V + x, x @ V), real(4, dtype=dtypes.float16))
