"""Generate programs of plain tinygrad as texts; each computes `result`.

A program sees the names that `tests.plain.process.NAMES` imports. `data(dtype, *shape)` is a tensor of special and
random elements in memory, the same ones in every process.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float32", "float64", "float16", "bfloat16")
DTYPES = (*INTS, *FLOATS, "bool")
SHAPES = ("5", "17", "3, 4", "2, 3, 5", "64", "1", "8, 33", "0, 3")


class Program(NamedTuple):
    """A program with its number."""

    number: int
    kind: str
    text: str


def program(number: int, seed: int = 0) -> Program:
    """Return the program with this number. The kinds take turns, so every range of numbers has all of them."""
    r = random.Random(seed * 1_000_003 + number)
    kind = list(KINDS)[number % len(KINDS)]
    return Program(number, kind, KINDS[kind](r, number // len(KINDS)))


def _nth(cases: tuple[str, ...], r: random.Random, turn: int) -> str:
    """Return the cases in turn, so that all of them occur, and then random ones."""
    return cases[turn] if turn < len(cases) else r.choice(cases)


def _elementwise(r: random.Random, turn: int) -> str:
    dtype = DTYPES[turn % len(DTYPES)]
    other = r.choice((dtype, dtype, r.choice(DTYPES)))
    shape = r.choice(SHAPES)
    binary = ("+", "-", "*", "//", "%", "/", "<", "==", "!=", ">=") + (("&", "|", "^") if dtype not in FLOATS else ())
    unary = [".abs()", ".sign()", ".square()", ".relu()", ".clamp(-3, 100)", ".sin()", ".exp()", ".sqrt()", ".log()"]
    unary += [".tanh()", ".sigmoid()", ".round()", ".isnan()", ".erf()", ".gelu()", ".reciprocal()", ".logical_not()"]
    steps = []
    for op in r.choices(binary, k=r.randint(1, 3)):
        # an integer division by zero ends the process in tinygrad
        operand = "3" if op in ("//", "%") else r.choice(("y", "y", "3", "x" if op in "&|^" else "2.5"))
        steps.append(f"x = x {op} {operand}")
    steps.insert(r.randint(0, len(steps)), f"x = x{r.choice(unary)}")
    if r.random() < 0.4:
        steps.append("x = (x < y).where(x, y)")
    return "\n".join((f"x, y = data({dtype!r}, {shape}), data({other!r}, {shape}, seed=1)", *steps, "result = x"))


def _reduction(r: random.Random, turn: int) -> str:
    f = _nth(
        (
            "x.sum(AXIS)",
            "x.softmax(-1)",
            "x.argmax(-1)",
            "x.mean(AXIS)",
            "x.max(AXIS)",
            "x.prod(AXIS)",
            "x.std(AXIS)",
            "x.argmin(-1)",
            "x.sum(AXIS, dtype='int8')",
            "x.any(AXIS)",
            "x.log_softmax(-1)",
            "x.logsumexp(-1)",
            "x.min(AXIS)",
            "x.all(AXIS)",
            "x.var(AXIS)",
            "(x.sum(-1, keepdim=True) + x).max()",
            "x.argmax()",
            "x.sum(AXIS, dtype='float64')",
            "(x - x.mean(0)).square().sum(0).sqrt()",
        ),
        r,
        turn,
    )
    dtype = "float32" if turn < 2 else r.choice(("float32", "float32", *DTYPES))
    shape = "64, 1000" if turn < 2 else r.choice(("7", "3, 4", "33, 65", "2, 3, 40", "1, 5", "3, 0"))
    axis = r.choice(("-1", "0") if "dtype" in f else ("-1", "0", "None", "0, keepdim=True"))
    return f"x = data({dtype!r}, {shape})\nresult = {f.replace('AXIS', axis)}"


def _product(r: random.Random, turn: int) -> str:
    m, k, n = (r.choice((1, 3, 16, 33)) for _ in range(3))
    dtype = r.choice(("float32", "float32", *DTYPES))
    return _nth(
        (
            "x = data('float32', 64, 1000)\nresult = x @ x.T",
            "x, y = data('int8', 16, 33), data('int8', 33, 16)\nresult = x.matmul(y, dtype=dtypes.int32)",
            f"result = data({dtype!r}, {m}, {k}) @ data({dtype!r}, {k}, {n})",
            f"result = data({dtype!r}, 3, {m}, {k}) @ data({dtype!r}, 3, {k}, {n})",
            f"result = data('float16', {m}, {k}).matmul(data('float16', {k}, {n}), dtype=dtypes.float32)",
            f"result = Tensor.einsum('ij,kj->ik', data({dtype!r}, {m}, {k}), data({dtype!r}, {n}, {k}))",
            f"result = data({dtype!r}, 200).dot(data({dtype!r}, 200))",
            f"x = data('float32', {m}, 64)\nw, b = data('float32', 64, 8), data('float32', 8)\n"
            "result = x.linear(w, b).relu()",
            "q, k, v = (data('float32', 2, 3, 8, 4, seed=i) for i in range(3))\n"
            "result = q.scaled_dot_product_attention(k, v, is_causal=True)",
            "x = data('float32', 48, 48)\nresult = ((x @ x) * 2 + 1) @ x",
            "x = data('float64', 40, 40)\nresult = (x @ x).sum(0)",
            "x = data('bool', 5, 6)\nresult = x @ x.T",
            "x, y = data('float32', 17, 1), data('float32', 1, 19)\nresult = x @ y",
        ),
        r,
        turn,
    )


def _convolution(r: random.Random, turn: int) -> str:
    dtype = r.choice(("float32", "float32", "float16", "int32", "float64"))
    return _nth(
        (
            "x, w = data('float32', 2, 3, 12, 12), data('float32', 8, 3, 3, 3)\nresult = x.conv2d(w, padding=1)",
            f"x, w = data({dtype!r}, 1, 4, 9, 9), data({dtype!r}, 4, 2, 3, 3)\n"
            "result = x.conv2d(w, groups=2, stride=2)",
            "x, w, g = data('float32', 4, 3, 10, 10), data('float32', 8, 3, 3, 3), data('float32', 8).abs()\n"
            "result = x.conv2d(w) * g.rsqrt().reshape(1, 8, 1, 1)",
            "result = data('float32', 1, 2, 9, 9).max_pool2d((3, 3), stride=2)",
            "x, w = data('float32', 1, 4, 5, 5), data('float32', 4, 2, 3, 3)\nresult = x.conv_transpose2d(w, stride=2)",
            f"x, w = data({dtype!r}, 2, 3, 20), data({dtype!r}, 4, 3, 3)\nresult = x.conv2d(w, dilation=2)",
            "result = data('float32', 1, 2, 8, 8).avg_pool2d((2, 2))",
            "Tensor.manual_seed(3)\nm = nn.BatchNorm(3)\nresult = m(data('float32', 2, 3, 4, 4))",
            "result = data('float32', 1, 1, 6, 6).interpolate((9, 9))",
        ),
        r,
        turn,
    )


def _order(r: random.Random, turn: int) -> str:
    dtype = r.choice(("float32", "float32", *DTYPES))
    shape = r.choice(("7", "4, 9", "20", "2, 3, 5"))
    return f"x = data({dtype!r}, {shape})\nresult = " + _nth(
        (
            "x.sort(-1)",
            "x.cumsum(-1)",
            "x.argsort(-1)",
            "x.topk(3)",
            "x.cumprod(-1)",
            "x.cummax(-1)",
            "x.sort(0, descending=True)[0]",
            "x.cumsum(0)",
            "x.logcumsumexp(-1)",
            "x.topk(2, largest=False)",
            "x.flip(0).sort(-1)[1]",
        ),
        r,
        turn,
    )


def _number(r: random.Random, turn: int) -> str:
    dtype, other = r.choice(DTYPES), r.choice(DTYPES)
    x, y = f"data({dtype!r}, 40)", f"data({other!r}, 40, seed=1)"
    whole, amount = r.choice(INTS), "data('int32', 40, seed=1).clamp(0, 40)"
    return _nth(
        (
            f"result = {x}.cast({other!r})",
            f"result = data('float32', 40) ** {y}.cast('float32')",
            f"result = data({whole!r}, 40) << {amount}",
            f"result = data({whole!r}, 40) >> {r.choice((1, 7, 31))}",
            f"result = {x} ** {r.choice((0, 2, 3, 0.5, -1))}",
            f"result = data({whole!r}, 40) // (data({whole!r}, 40, seed=1) | 1)",
            f"result = data('float32', 40).bitcast({r.choice(('int32', 'uint32', 'uint8'))!r})",
            f"result = {r.choice((2, -3, 1.5))} ** {x}",
            f"result = data('float32', 40).cast({other!r}).cast('float32')",
            "result = data('float32', 40).fmod(data('float32', 40, seed=1))",
            "result = data('float64', 40).sin(), data('float32', 40).cast('fp8e4m3').cast('float32')",
            f"result = data({whole!r}, 40) ** data({whole!r}, 40, seed=1)",
            f"result = data({whole!r}, 40) % {r.choice((3, -7, 16))}",
            "result = (data('float32', 40) / 0).cast('int32'), Tensor([1.0, float('nan')]).maximum(0.5)",
        ),
        r,
        turn,
    )


def _random(r: random.Random, turn: int) -> str:
    seed, shape = r.randint(0, 99), r.choice(("5", "3, 4", "1000"))
    return f"Tensor.manual_seed({seed})\n" + _nth(
        (
            f"result = Tensor.rand({shape}), Tensor.rand({shape})",
            f"result = Tensor.randn({shape})",
            f"result = Tensor.randint({shape}, low=-5, high=9)",
            "with Context(TRAINING=1):\n  result = Tensor.ones(64).dropout(0.5)",
            "result = Tensor.randperm(10)",
            "result = Tensor([0.1, 0.2, 0.7]).multinomial(20, replacement=True)",
            f"result = Tensor.normal({shape}, mean=3, std=0.5)",
            f"result = [Tensor.rand({shape}, dtype=d) for d in ('float16', 'float64', 'bfloat16')]",
            "result = Tensor.kaiming_uniform(6, 7), nn.Linear(3, 4).weight",
            f"result = data('float32', {shape}).rand_like() + Tensor.uniform({shape}, low=2, high=3)",
        ),
        r,
        turn,
    )


def _write(r: random.Random, turn: int) -> str:
    dtype = r.choice(("float32", "float32", *DTYPES))
    x = f"x = data({dtype!r}, 6, 5)"
    return _nth(
        (
            f"{x}\nx[2:4] = x[0:2] + 1\nresult = x",
            f"{x}\nx[::2] = 0\nresult = x",
            f"{x}\nresult = x[Tensor([0, 5, 2])], x[1], x[..., 2], x[:, -1:]",
            f"{x}\nx.assign(x + 1).realize()\nresult = x",
            f"{x} * 2\nx[::2] = x[1::2]\nresult = x",
            f"{x}\nresult = x.gather(0, Tensor([[0, 1, 2, 3, 4], [5, 4, 3, 2, 1]]))",
            f"{x}\nfor i in range(5):\n  x += x\nresult = x",
            f"{x}\nresult = x.scatter(1, Tensor([[0, 1], [2, 3]]), data({dtype!r}, 2, 2))",
            f"{x}\ny = x[1:]\ny[0] = 7\nresult = x, y",
            f"{x}\nx[Tensor([1, 3])] = data({dtype!r}, 2, 5)\nresult = x",
            f"{x}\nx[:] = x + x\nresult = x.realize()",
            f"{x}\nresult = x[x.sum(1) > 0] if False else (x > 0).where(x, 0)",
            f"{x}\nresult = x.pad((1, 2)).shrink(((1, 4), None)).flip(1)[::2].permute(1, 0)",
            f"{x}\nresult = Tensor.stack(x, x + 1), x.cat(x, dim=1), x.repeat(2, 3), x.roll(2, 0), x.tril()",
        ),
        r,
        turn,
    )


def _jit(r: random.Random, turn: int) -> str:
    body = _nth(
        (
            "x.sum(0) + 1",
            "x @ x.T",
            "x.sort(0)[0]",
            "(x * 2 + 1).softmax(-1)",
            "x + Tensor.rand(6, 6)",
            "x.cumsum(0)",
            "x.sin() * x.mean()",
            "x.max(1).exp()",
            "x.conv2d(x.reshape(1, 1, 6, 6)[..., :2, :2]) if x.ndim == 4 else x.matmul(x).relu()",
        ),
        r,
        turn,
    )
    text = f"Tensor.manual_seed(1)\n@TinyJit\ndef f(x):\n  return ({body}).realize()\n"
    if turn % 3 == 1:
        return text + (
            "for i in range(3):\n  f(data('float32', 6, 6, seed=i))\n"
            "f = pickle.loads(pickle.dumps(f))\nresult = f(data('float32', 6, 6, seed=7))"
        )
    if turn == 6:
        return text + "f(data('float32', 6, 6))\nf(data('float32', 6, 6))\nresult = f(data('float32', 5, 5))"
    return text + "result = [f(data('float32', 6, 6, seed=i)).numpy() for i in range(5)]"


def _search(r: random.Random, turn: int) -> str:
    if turn >= 3:  # a search compiles many kernels
        return _elementwise(r, turn)
    body = ("x.sum(1)", "x @ x", "(x * 2 + x.T).sin()")[turn]
    return f"x = data('float32', 12, 12)\nwith Context(BEAM=1, IGNORE_BEAM_CACHE=0):\n  result = ({body}).numpy()"


def _devices(r: random.Random, turn: int) -> str:
    x = "two = ('CPU:0', 'CPU:1')\nx = data('float32', 4, 6)"
    return _nth(
        (
            f"{x}.shard(two, 0)\nresult = (x * 2 + 1).sum(1)",
            f"{x}.shard(two, 0)\nresult = x.sum(0)",
            f"{x}.to('CPU:1')\nresult = (x + 1).to('CPU')",
            f"{x}.shard(two, 1)\nresult = x @ data('float32', 6, 5).shard(two, 0)",
            f"{x}\nresult = x + x.to('CPU:1')",
            f"{x}.shard(two)\nresult = x.softmax(-1)",
            f"{x}.shard(two, 0)\nx[0:2] = 1\nresult = x",
            f"{x}.to('PYTHON')\nresult = (x * 3).sum(0)",
            f"{x}.shard(two, 0)\nresult = x.reshape(24).cumsum(0)",
        ),
        r,
        turn,
    )


def _kept(r: random.Random, turn: int) -> str:
    x = f"x = data({r.choice(DTYPES)!r}, 3, 4)"
    return _nth(
        (
            f"{x}\nresult = pickle.loads(pickle.dumps(x))",
            f"{x}\nwith tempfile.TemporaryDirectory() as d:\n  file = Path(d, 'x')\n"
            "  safe_save({'x': x, 'y': x + 1}, str(file))\n"
            "  result = file.read_bytes().hex(), safe_load(str(file))['y'].to('CPU').numpy()",
            f"{x}\nresult = copy.copy(x), copy.deepcopy(x)",
            "Tensor.manual_seed(2)\na, b = nn.Linear(4, 3), nn.Linear(4, 3)\nload_state_dict(b, get_state_dict(a), "
            "verbose=False)\nresult = b(data('float32', 2, 4)), sorted(get_state_dict(b))",
            f"{x}\nresult = pickle.loads(pickle.dumps((x + 1).uop)).dtype, pickle.loads(pickle.dumps(x + 1))",
            f"{x}\nresult = repr(x), repr(x + 1), str(x.dtype), x.tolist(), bytes(x.data()), x.shape, len(x)",
            "result = [(n, str(inspect.signature(getattr(Tensor, n)))) for n in ('sum', 'rand', 'numpy', 'assign')]",
            "result = [inspect.getsource(getattr(Tensor, n)) for n in ('sum', 'matmul', 'numpy', 'assign', 'realize')]",
            "result = [str(u.op) for u in (data('float32', 3, 4) * 2).sum(1).softmax().uop.toposort()]",
            "x = (data('float32', 3, 4) @ data('float32', 4, 3)).softmax()\nresult = len(x.schedule_linear().src)",
        ),
        r,
        turn,
    )


def _symbolic(r: random.Random, turn: int) -> str:
    n, m = r.randint(1, 10), r.randint(1, 10)
    v = f"a = data('float32', 10, 4)\nv = Variable('n', 1, 10)\nn, m = v.bind({n}), v.bind({m})\n"
    return v + _nth(
        (
            "result = (a[:n] * 2).sum()",
            "result = (a[:n] @ data('float32', 4, 3)).clone().realize().sum()",
            "f = TinyJit(lambda x: (x + 1).sum(0).realize())\n"
            "result = [f(a[:v.bind(i)]).numpy() for i in (1, 2, 3, 4)]",
            "result = a[:n].softmax(0).sum(0)",
            "result = a[:n].reshape(n * 4).max()",
            "result = a.shrink(((n, n + 1), None)) if n.unbind()[1] < 10 else a",
            "result = [a[:k].sum(0).numpy() for k in (n, m)]",
            "result = a[:n]",
            "a[n - 1:n] = 5\nresult = a",
            "result = (a[:n].T @ a[:n]), Tensor.arange(10)[:n].sum()",
        ),
        r,
        turn,
    )


def _gradient(r: random.Random, turn: int) -> str:
    body = r.choice(("(w @ x).sin().sum()", "(w * x).softmax().max(1).sum()", "(w @ x).relu().square().mean()"))
    w = f"w, x = data('float32', 5, 5), data('float32', 5, 5, seed=1)\ny = {body}\n"
    train = (
        "Tensor.manual_seed(1)\nm = [nn.Linear(4, 8), Tensor.relu, nn.Linear(8, 3)]\n"
        "opt = nn.optim.{}(nn.state.get_parameters(m), lr=0.1)\n{}"
        "def step(x):\n  with Context(TRAINING=1):\n    opt.zero_grad()\n    loss = x.sequential(m)"
        ".sparse_categorical_crossentropy(Tensor([0, 2, 1])).backward()\n    opt.step()\n    return loss.realize()\n"
        "result = [step(data('float32', 3, 4)).numpy() for _ in range(2)]"
    )
    return _nth(
        (
            f"{w}result = y.gradient(w, x)",
            train.format("SGD", ""),
            f"{w}y.backward()\nresult = w.grad, x.grad",
            train.format("Adam", "@TinyJit\n"),
            f"{w}result = y.gradient(w)[0].square().sum().gradient(x)",
            "f = function(lambda a: (a * a).sum())\nx = data('float32', 4)\nresult = f(x).gradient(x)",
            "x, w = data('float32', 2, 3, 6, 6), data('float32', 4, 3, 3, 3)\n"
            "result = x.conv2d(w).sum().gradient(x, w)",
            f"{w}result = y.gradient(data('float32', 2))",
            "x = data('float32', 12)\nresult = x.sort()[0][:4].sum().gradient(x), x.cumsum().max().gradient(x)",
            f"{train.format('AdamW', '')}\nresult = result, m[0].weight",
        ),
        r,
        turn,
    )


def _error(r: random.Random, turn: int) -> str:
    return "x = data('float32', 3, 4)\nresult = " + _nth(
        (
            "x + data('float32', 5)",
            "x @ x",
            "bool(x)",
            "x.reshape(5)",
            "x.sum(7)",
            "x.item()",
            "x[9]",
            "x.conv2d(x)",
            "x.assign(data('float32', 5))",
            "Tensor([[1, 2], [3]])",
            "x.cast('float33')",
            "x.to('NOWHERE').numpy()",
            "data('float32', 3) << 1.5",
            "float(x), int(x)",
            "x.expand(2, 2)",
            "Tensor.einsum('ij,jk', x, x)",
            "x.permute(0, 0)",
            "Tensor.randint(3, low=2.5, high=9)",
            "x.shard(('CPU:0', 'CPU:1'), 0)",
            "Tensor.stack(x, x[0])",
            "x.nothing",
            "[row for row in x[0]], list(x.shape), x in [1]",
        ),
        r,
        turn,
    )


KINDS: Mapping[str, Callable[[random.Random, int], str]] = {
    "elementwise": _elementwise,
    "reductions": _reduction,
    "products": _product,
    "convolutions": _convolution,
    "sorts and sums": _order,
    "numbers": _number,
    "random numbers": _random,
    "writes": _write,
    "TinyJit": _jit,
    "BEAM": _search,
    "devices": _devices,
    "saved": _kept,
    "symbolic sizes": _symbolic,
    "gradients": _gradient,
    "errors": _error,
}
