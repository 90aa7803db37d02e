"""Programs of many fields, each as a user would write it; `kinds_in_jax.py` has them in JAX."""

from __future__ import annotations

import math
from typing import Any

from tinygrad import Tensor

from bench.against.applications import of
from bench.against.programs import Program
from bench.workloads import floats, ints
from branded import (
    associative_scan,
    dynamic_update_slice,
    fft,
    fori_loop,
    grad,
    hessian,
    ifft,
    index_add,
    jacfwd,
    linalg,
    random,
    scan,
    segment_max,
    segment_sum,
    top_k,
    value_and_grad,
    vmap,
    while_loop,
)


def _particle_filter(key: Any, seen: Any) -> Any:
    """Bootstrap filter of a nonlinear model, with systematic resampling."""
    n = 512

    def step(carry: Any, y: Any) -> Any:
        x, key = carry
        key, push, pick = random.split(key, 3)
        x = 0.5 * x + 25 * x / (1 + x * x) + random.normal(push, (n,)) * 3
        weights = (-0.5 * (y - x * x / 20) ** 2).softmax()
        at = (random.uniform(pick) + Tensor.arange(n)) / n
        chosen = (weights.cumsum(0).unsqueeze(0) < at.unsqueeze(1)).sum(1).clip(0, n - 1)
        return (x[chosen], key), (weights * x).sum()

    key = key.cast("uint32")
    start, key = random.split(key)
    return scan(step, (random.normal(start, (n,)), key), seen)[1]


def _graph_network(nodes: Any, source: Any, target: Any, w1: Any, w2: Any, w3: Any) -> Any:
    """Gradient of three rounds of message passing."""

    def loss(ws: Any) -> Any:
        x = nodes
        for _ in range(3):
            messages = (x[source].cat(x[target], dim=1) @ ws[0]).relu()
            x = x + (x @ ws[1] + index_add(Tensor.zeros(*x.shape), target, messages)).tanh()
        return (x @ ws[2]).square().mean()

    return grad(loss)((w1, w2, w3))


def _bundle_adjustment(cameras: Any, points: Any, camera: Any, point: Any, seen: Any) -> Any:
    """A step of Levenberg-Marquardt for the cameras."""

    def rotate(r: Any, p: Any) -> Any:
        angle = (r.square().sum() + 1e-8).sqrt()
        k = r / angle
        cross = Tensor.stack(k[1] * p[2] - k[2] * p[1], k[2] * p[0] - k[0] * p[2], k[0] * p[1] - k[1] * p[0])
        return p * angle.cos() + cross * angle.sin() + k * (k * p).sum() * (1 - angle.cos())

    def residual(c: Any, p: Any, y: Any) -> Any:
        q = rotate(c[:3], p) + c[3:6]
        flat = q[:2] / (q[2] + 5)
        return flat * (1 + 0.01 * flat.square().sum()) - y

    r = vmap(residual)(cameras[camera], points[point], seen)
    j = vmap(jacfwd(residual))(cameras[camera], points[point], seen)
    n = cameras.shape[0]
    normal = segment_sum(j.transpose(1, 2) @ j, camera, n) + 0.1 * Tensor.eye(6)
    slope = segment_sum((j * r.unsqueeze(-1)).sum(1), camera, n)
    return cameras - vmap(linalg.solve)(normal, slope), r.square().sum()


def _quantum_circuit(angles: Any) -> Any:
    """Gradient of an energy of 6 qubits after 3 layers of rotations and controlled signs."""
    n = 6

    def energy(angles: Any) -> Any:
        re = Tensor.zeros(2**n).reshape(2**n)
        re = (Tensor.arange(2**n) == 0).where(1.0, 0.0).reshape((2,) * n)
        im = re * 0
        for layer in range(3):
            for q in range(n):
                c, s = (angles[layer, q, 0] / 2).cos(), (angles[layer, q, 0] / 2).sin()
                gate = Tensor.stack(Tensor.stack(c, -s), Tensor.stack(s, c))
                re, im = (_apply(gate, x, q) for x in (re, im))
                c, s = (angles[layer, q, 1] / 2).cos(), (angles[layer, q, 1] / 2).sin()
                sign = Tensor([-1.0, 1.0]).reshape([2 if i == q else 1 for i in range(n)])
                re, im = re * c - im * s * sign, im * c + re * s * sign
            for q in range(n - 1):
                both = [2 if i in (q, q + 1) else 1 for i in range(n)]
                sign = Tensor([1.0, 1.0, 1.0, -1.0]).reshape(both)
                re, im = re * sign, im * sign
        odds = re * re + im * im
        total = 0
        for q in range(n):
            total = total + (odds * Tensor([1.0, -1.0]).reshape([2 if i == q else 1 for i in range(n)])).sum()
        return total

    return vmap(value_and_grad(energy))(angles)


def _apply(gate: Any, state: Any, q: int) -> Any:
    shape = state.shape
    return (gate @ state.reshape(2**q, 2, -1)).reshape(shape)


def _beam_search(table: Any, start: Any) -> Any:
    """The best 4 sequences of 24 letters of a Markov chain of 64."""
    k = 4

    def step(carry: Any, _: Any) -> Any:
        scores, last = carry
        found = scores.unsqueeze(1) + table.log_softmax()[last]
        best, at = top_k(found.reshape(-1), k)
        return (best, at % 64), (at // 64, at % 64)

    def search(first: Any) -> Any:
        scores, last = top_k(first.log_softmax(), k)
        (scores, _), (parents, letters) = scan(step, (scores, last), None, length=24)
        return scores, parents, letters

    return vmap(search)(start)


def _spectral_method(u: Any) -> Any:
    """Burgers' equation: 50 steps of an integrating factor."""
    n = u.shape[0]
    k = Tensor.arange(n).float()
    k = (k < n // 2).where(k, k - n)
    decay = (-0.01 * 0.002 * k * k).exp()

    def step(_: Any, state: Any) -> Any:
        re, im = state
        flat = ifft((re, im))[0]
        square_re, square_im = fft(flat * flat)
        return (re + 0.001 * k * square_im) * decay, (im - 0.001 * k * square_re) * decay

    return ifft(fori_loop(0, 50, step, fft(u)))[0]


def _int8(x: Any, w1: Any, w2: Any, w3: Any) -> Any:
    """Inference of three layers whose weights and activations are int8."""

    def quantized(x: Any) -> Any:
        scale = x.abs().max() / 127
        return (x / scale).round().clip(-127, 127).cast("int8"), scale

    for i, w in enumerate((w1, w2, w3)):
        q, s = quantized(x)
        p, t = quantized(w)
        x = (q.cast("int32") @ p.cast("int32")).float() * (s * t)
        x = x.relu() if i < 2 else x
    return x


def _lennard_jones(x: Any, v: Any) -> Any:
    """20 steps of 108 atoms in a periodic box."""
    box = 6.0
    n = x.shape[0]

    def energy(x: Any) -> Any:
        d = x.unsqueeze(1) - x.unsqueeze(0)
        d = d - box * (d / box).round()
        r2 = d.square().sum(-1) + Tensor.eye(n) * 100.0
        r6 = (0.5 / (r2 + 0.3)) ** 3
        return 2 * (r6 * r6 - r6).sum()

    def step(state: Any, _: Any) -> Any:
        x, v, f = state
        v = v + 0.0005 * f
        x = x + 0.001 * v
        f = -grad(energy)(x)
        v = v + 0.0005 * f
        return (x, v, f), 0.5 * v.square().sum() + energy(x)

    return scan(step, (x, v, -grad(energy)(x)), None, length=20)[1]


def _state_space(x: Any, a: Any, b: Any, c: Any) -> Any:
    """Gradient of a diagonal state space model by an associative scan."""

    def combine(left: Any, right: Any) -> Any:
        return left[0] * right[0], right[0] * left[1] + right[1]

    def loss(ws: Any) -> Any:
        a, b, c = ws

        def one(x: Any) -> Any:
            decay = (-a.exp()).exp().unsqueeze(0).expand(x.shape[0], -1)
            _, h = associative_scan(combine, (decay, x @ b))
            return (h @ c).tanh()

        return (vmap(one)(x) - x).square().mean()

    return grad(loss)((a, b, c))


def _unet(x: Any, w1: Any, w2: Any, w3: Any, w4: Any) -> Any:
    """Gradient of a small U-net with one skip connection."""

    def loss(ws: Any) -> Any:
        down = x.conv2d(ws[0], padding=1).relu()
        middle = down.max_pool2d((2, 2)).conv2d(ws[1], padding=1).relu()
        up = middle.conv_transpose2d(ws[2], stride=2).relu()
        return (up.cat(down, dim=1).conv2d(ws[3], padding=1) - x).square().mean()

    return value_and_grad(loss)((w1, w2, w3, w4))


def _decoding(embed: Any, wq: Any, wk: Any, wv: Any, wo: Any, first: Any) -> Any:
    """48 letters from one layer of attention with a cache of keys and values, for 4 prompts."""
    d, length = embed.shape[1], 48

    def one(letter: Any) -> Any:
        def step(carry: Any, i: Any) -> Any:
            letter, keys, values = carry
            x = embed[letter]
            keys = dynamic_update_slice(keys, (x @ wk).reshape(1, 4, -1), (i, 0, 0))
            values = dynamic_update_slice(values, (x @ wv).reshape(1, 4, -1), (i, 0, 0))
            q = (x @ wq).reshape(4, -1)
            scores = (keys * q).sum(-1) / math.sqrt(d / 4)
            seen = (Tensor.arange(length) <= i).unsqueeze(1)
            weights = seen.where(scores, -1e9).softmax(0)
            out = x + (weights.unsqueeze(-1) * values).sum(0).reshape(-1) @ wo
            letter = (out.layernorm() @ embed.T).argmax().cast("int32")
            return (letter, keys, values), letter

        cache = Tensor.zeros(length, 4, d // 4)
        return scan(step, (letter, cache, cache), Tensor.arange(length))[1]

    return vmap(one)(first)


def _greeks(spot: Any, strike: Any, noise: Any) -> Any:
    """Price, delta and gamma by closed form, and the slopes of an Asian option by Monte Carlo."""

    def normal(x: Any) -> Any:
        return 0.5 * (1 + (x / math.sqrt(2)).erf())

    def price(p: Any) -> Any:
        s, k, r, sigma, t = p[0], p[1], p[2], p[3], p[4]
        d1 = ((s / k).log() + (r + sigma * sigma / 2) * t) / (sigma * t.sqrt())
        return s * normal(d1) - k * (-r * t).exp() * normal(d1 - sigma * t.sqrt())

    def asian(p: Any) -> Any:
        steps = (p[2] - p[3] * p[3] / 2) / 32 + p[3] * math.sqrt(1 / 32) * noise
        return ((p[0] * steps.cumsum(1).exp()).mean(1) - p[1]).relu().mean() * (-p[2]).exp()

    s, k = 100 + 5 * spot, 100 + 5 * strike
    p = Tensor.stack(s, k, s * 0 + 0.03, s * 0 + 0.2, s * 0 + 1.0, dim=1)
    return vmap(price)(p), vmap(grad(price))(p), vmap(hessian(price))(p), vmap(grad(asian))(p[:8])


def _hidden_markov(start: Any, moves: Any, emits: Any, seen: Any) -> Any:
    """Gradient of the forward algorithm's likelihood, and Viterbi's paths."""

    def likelihood(ws: Any, ys: Any) -> Any:
        moves, emits = ws[0].log_softmax(), ws[1].log_softmax()

        def step(alpha: Any, y: Any) -> Any:
            return (alpha.unsqueeze(1) + moves).logsumexp(0) + emits[:, y], 0

        return scan(step, start.log_softmax() + emits[:, ys[0]], ys[1:])[0].logsumexp(0)

    def viterbi(ys: Any) -> Any:
        logs, out = moves.log_softmax(), emits.log_softmax()

        def step(score: Any, y: Any) -> Any:
            found = score.unsqueeze(1) + logs
            return found.max(0) + out[:, y], found.argmax(0)

        last, parents = scan(step, start.log_softmax() + out[:, ys[0]], ys[1:])
        return scan(lambda s, p: (p[s], p[s]), last.argmax().cast("int32"), parents, reverse=True)[1]

    return vmap(grad(likelihood), in_axes=(None, 0))((moves, emits), seen), vmap(viterbi)(seen)


def _sinkhorn(x: Any, y: Any) -> Any:
    """The gradient of an entropic distance of two clouds, through 30 iterations."""

    def distance(x: Any) -> Any:
        cost = (x.unsqueeze(1) - y.unsqueeze(0)).square().sum(-1)
        n = cost.shape[0]

        def step(state: Any, _: Any) -> Any:
            f, g = state
            f = -0.1 * ((g - cost) / 0.1 - math.log(n)).logsumexp(1)
            g = -0.1 * ((f.unsqueeze(1) - cost) / 0.1 - math.log(n)).logsumexp(0)
            return (f, g), None

        (f, g), _ = scan(step, (cost[:, 0] * 0, cost[0] * 0), None, length=30)
        plan = ((f.unsqueeze(1) + g - cost) / 0.1).exp() / n**2
        return (plan * cost).sum()

    return value_and_grad(distance)(x)


def _kalman_smoother(seen: Any, noise: Any) -> Any:
    """The likelihood's slope for a filter of 4 states and 2 measurements."""
    step_of = Tensor([[1.0, 0.0, 0.1, 0.0], [0.0, 1.0, 0.0, 0.1], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    look = Tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])

    def likelihood(noise: Any, ys: Any) -> Any:
        q, r = noise[0].exp() * Tensor.eye(4), noise[1].exp() * Tensor.eye(2)

        def step(state: Any, y: Any) -> Any:
            m, p = state
            m, p = step_of @ m, step_of @ p @ step_of.T + q
            s = look @ p @ look.T + r
            gain = linalg.solve(s, look @ p).T
            e = y - look @ m
            score = -0.5 * ((e * linalg.solve(s, e)).sum() + linalg.slogdet(s)[1])
            return (m + gain @ e, p - gain @ look @ p), score

        return scan(step, (Tensor.zeros(4), Tensor.eye(4)), ys)[1].sum()

    return vmap(value_and_grad(likelihood), in_axes=(None, 0))(noise, seen)


def _process(xs: Any, ys: Any, test: Any, scales: Any) -> Any:
    """Mean and variance at new points, and the slope of the evidence."""

    def kernel(s: Any, a: Any, b: Any) -> Any:
        return s[0].exp() * (-0.5 * (a.unsqueeze(1) - b.unsqueeze(0)).square().sum(-1) / s[1].exp()).exp()

    def factor(s: Any) -> Any:
        return linalg.cholesky(kernel(s, xs, xs) + (0.1 + s[2].exp()) * Tensor.eye(xs.shape[0]))

    def evidence(s: Any) -> Any:
        f = factor(s)
        z = linalg.solve_triangular(f, ys, lower=True)
        return -0.5 * z.square().sum() - f.diagonal().log().sum()

    f, across = factor(scales), kernel(scales, xs, test)
    half = linalg.solve_triangular(f, across, lower=True)
    mean = half.T @ linalg.solve_triangular(f, ys, lower=True)
    return mean, scales[0].exp() - half.square().sum(0), grad(evidence)(scales)


def _clusters(x: Any) -> Any:
    """Lloyd's algorithm until no center moves, with sums of segments."""
    k = 16

    def assign(c: Any) -> Any:
        return vmap(lambda x: (c - x).square().sum(1).argmin())(x)

    def step(state: Any) -> Any:
        i, c, _ = state
        a = assign(c)
        count = segment_sum(Tensor.ones(x.shape[0]), a, k).maximum(1)
        new = segment_sum(x, a, k) / count.unsqueeze(1)
        return i + 1, new, (new - c).abs().max()

    init = (Tensor(0), x[:k], Tensor(1.0))
    _, c, _ = while_loop(lambda s: (s[0] < 50) & (s[2] > 1e-4), step, init)
    return c, assign(c)


def _fixed_point(w: Any, x: Any) -> Any:
    """The gradient of a deep equilibrium, 40 iterations each."""

    def loss(w: Any) -> Any:
        def step(_: Any, z: Any) -> Any:
            return (z @ w + x).tanh()

        return fori_loop(0, 40, step, x * 0).square().mean()

    return grad(loss)(w)


def _attention_blocks(x: Any, wq: Any, wk: Any, wv: Any, lengths: Any) -> Any:
    """Attention of 4 heads over padded sequences, causal, and its gradient."""

    def loss(ws: Any) -> Any:
        def one(x: Any, n: Any) -> Any:
            q, k, v = ((x @ w).reshape(-1, 4, 16).transpose(0, 1) for w in ws)
            i = Tensor.arange(x.shape[0])
            seen = (i.unsqueeze(0) <= i.unsqueeze(1)) & (i < n)
            a = seen.where(q @ k.transpose(1, 2) / 4, -1e9).softmax()
            return ((a @ v) * (i < n).reshape(-1, 1).float()).square().sum()

        return vmap(one)(x, lengths).mean()

    return value_and_grad(loss)((wq, wk, wv))


def _level_set(phi: Any) -> Any:
    """20 upwind steps that turn a function into the distance to its zeros."""
    sign = phi / (phi * phi + 1e-2).sqrt()

    def largest(a: Any, b: Any) -> Any:
        return a.maximum(0).square().maximum(b.minimum(0).square())

    def step(phi: Any, _: Any) -> Any:
        p = phi.pad(((1, 1), (1, 1)), mode="replicate")
        a, b = phi - p[:-2, 1:-1], p[2:, 1:-1] - phi
        c, d = phi - p[1:-1, :-2], p[1:-1, 2:] - phi
        outward, inward = (largest(a, b) + largest(c, d)).sqrt(), (largest(-a, -b) + largest(-c, -d)).sqrt()
        phi = phi - 0.3 * sign * ((sign > 0).where(outward, inward) - 1)
        return phi, (phi < 0).sum()

    return scan(step, phi, None, length=20)


def _ctc(logits: Any, labels: Any) -> Any:
    """Gradient of the CTC loss of sequences, over the blank 0 and labels from 1."""
    least = -1e30

    def one(logits: Any, labels: Any) -> Any:
        n = 2 * labels.shape[0] + 1
        path = Tensor.zeros(labels.shape[0], dtype=labels.dtype).stack(labels, dim=1).reshape(-1).pad(((0, 1),))
        may_skip = (path != 0) & (path != path.pad(((2, 0),), value=-1)[:n])
        seen = logits.log_softmax()[:, path]

        def step(a: Any, seen: Any) -> Any:
            b = a.pad(((1, 0),), value=least)[:n]
            c = may_skip.where(a.pad(((2, 0),), value=least)[:n], least)
            top = a.maximum(b).maximum(c)
            return top + ((a - top).exp() + (b - top).exp() + (c - top).exp()).log() + seen, None

        a, _ = scan(step, (Tensor.arange(n) < 2).where(seen[0], least), seen[1:])
        return -a[-2:].logsumexp()

    return value_and_grad(lambda logits: vmap(one)(logits, labels + 1).mean())(logits)


def _graph_attention(x: Any, source: Any, target: Any, w: Any, a: Any, b: Any) -> Any:
    """Gradient of a layer of attention over the edges of a graph, with several heads."""
    n = x.shape[0]

    def loss(ws: Any) -> Any:
        w, a, b = ws
        h = (x @ w).reshape(n, *a.shape)
        score = ((h * a).sum(-1)[source] + (h * b).sum(-1)[target]).leaky_relu(0.2)
        weight = (score - segment_max(score, target, n).detach()[target]).exp()
        share = weight / (segment_sum(weight, target, n)[target] + 1e-9)
        return segment_sum(share.unsqueeze(-1) * h[source], target, n).elu().square().mean()

    return value_and_grad(loss)((w, a, b))


def _life(start: Any) -> Any:
    """30 generations of the game of life on a torus, in 8-bit integers."""

    def step(cells: Any, _: Any) -> Any:
        near = [cells.roll((i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
        count = sum(near[1:], near[0])
        cells = ((count == 3) | ((count == 2) & (cells == 1))).cast("uint8")
        return cells, cells.cast("int32").sum()

    return scan(step, (start > 0).cast("uint8"), None, length=30)


def _contrastive(a: Any, b: Any, x: Any, y: Any) -> Any:
    """A contrastive loss of pairs in both directions, and its gradient."""

    def loss(ws: Any) -> Any:
        u, v = x @ ws[0], y @ ws[1]
        u, v = (z / (z.square().sum(1, keepdim=True) + 1e-6).sqrt() for z in (u, v))
        score = u @ v.T / 0.1
        return -(score.log_softmax(1).diagonal() + score.log_softmax(0).diagonal()).mean()

    return value_and_grad(loss)((a, b))


def _checksums(messages: Any) -> Any:
    """CRC-32 of messages, byte by byte and bit by bit."""

    def byte(crc: Any, b: Any) -> Any:
        crc = crc ^ b
        for _ in range(8):
            crc = ((crc & 1) != 0).where((crc >> 1) ^ 0xEDB88320, crc >> 1)
        return crc, None

    def one(message: Any) -> Any:
        return scan(byte, Tensor(0xFFFFFFFF, dtype="uint32"), message)[0] ^ 0xFFFFFFFF

    return vmap(one)(messages.cast("uint32"))


def _tucker(core: Any, a: Any, b: Any, c: Any) -> Any:
    """A tensor from its core and a factor for each axis, and the squared norm of each of its slices."""
    whole = Tensor.einsum("abc,ia,jb,kc->ijk", core, a, b, c)
    return whole, whole.square().sum((1, 2))


def _normalized(score: Any) -> Any:
    """The mutual likelihood of rows and columns, as for the matches of two sets of features."""
    likelihood = 2 * score - score.logsumexp(0, keepdim=True) - score.logsumexp(1, keepdim=True)
    return likelihood.exp(), score.logsumexp(0) + score.logsumexp(1)


def _experts(gate: Any, w1: Any, w2: Any, x: Any) -> Any:
    """A layer of which each token passes two of eight experts."""

    def token(x: Any) -> Any:
        weight, chosen = top_k((x @ gate).softmax(), 2)
        hidden = Tensor.einsum("d,kdh->kh", x, w1[chosen]).relu()
        return Tensor.einsum("k,kh,khd->d", weight / weight.sum(), hidden, w2[chosen])

    return vmap(token)(x)


KINDS = (
    Program("particle filter, 512 of 10", (ints(1000, 2), floats(10)), of("particle_filter", _particle_filter)),
    Program(
        "graph network, 500 nodes",
        (
            floats(500, 32, scale=0.3),
            *(ints(500, 3000),) * 2,
            *(floats(64, 32, scale=0.1), floats(32, 32, scale=0.1), floats(32, 1, scale=0.1)),
        ),
        of("graph_network", _graph_network),
    ),
    Program(
        "bundle adjustment, 10 cameras",
        (floats(10, 6, scale=0.2), floats(200, 3), ints(10, 1000), ints(200, 1000), floats(1000, 2, scale=0.2)),
        of("bundle_adjustment", _bundle_adjustment),
    ),
    Program("quantum circuit, 6 qubits", (floats(8, 3, 6, 2),), of("quantum_circuit", _quantum_circuit)),
    Program("beam search, 8 x 4 of 24", (floats(64, 64), floats(8, 64)), of("beam_search", _beam_search)),
    Program("spectral method, 256", (floats(256),), of("spectral_method", _spectral_method)),
    Program(
        "int8 inference, 64 x 256",
        (floats(64, 256), floats(256, 512), floats(512, 256), floats(256, 10)),
        of("int8", _int8),
    ),
    Program("Lennard-Jones, 108 atoms", (floats(108, 3, scale=2), floats(108, 3)), of("lennard_jones", _lennard_jones)),
    Program(
        "state space model, 8 x 256",
        (floats(8, 256, 4), floats(16), floats(4, 16), floats(16, 4)),
        of("state_space", _state_space),
    ),
    Program(
        "U-net gradients, 4 x 32²",
        (
            floats(4, 3, 32, 32),
            floats(16, 3, 3, 3, scale=0.2),
            floats(32, 16, 3, 3, scale=0.1),
            floats(32, 16, 2, 2, scale=0.1),
            floats(3, 32, 3, 3, scale=0.1),
        ),
        of("unet", _unet),
    ),
    Program(
        "decoding with a cache, 4 x 48",
        (floats(64, 64), *(floats(64, 64, scale=0.1),) * 4, ints(64, 4)),
        of("decoding", _decoding),
    ),
    Program("Greeks of 100 options", (floats(100), floats(100), floats(200, 32)), of("greeks", _greeks)),
    Program(
        "hidden Markov model, 16 x 100",
        (floats(8), floats(8, 8), floats(8, 12), ints(12, 16, 100)),
        of("hidden_markov", _hidden_markov),
    ),
    Program("Sinkhorn, 64²", (floats(64, 2), floats(64, 2)), of("sinkhorn", _sinkhorn)),
    Program("Kalman likelihood, 16 of 60", (floats(16, 60, 2), floats(2)), of("kalman_smoother", _kalman_smoother)),
    Program(
        "Gaussian process, 150 points",
        (floats(150, 2), floats(150), floats(100, 2), floats(3)),
        of("process", _process),
    ),
    Program("Lloyd's clusters, 2,000 points", (floats(2000, 4),), of("clusters", _clusters)),
    Program("deep equilibrium, 64 x 64", (floats(64, 64, scale=0.1), floats(64, 64)), of("fixed_point", _fixed_point)),
    Program(
        "padded attention, 8 x 64",
        (floats(8, 64, 64, scale=0.3), *(floats(64, 64, scale=0.1),) * 3, ints(64, 8)),
        of("attention_blocks", _attention_blocks),
    ),
    Program("level set, 128²", (floats(128, 128, scale=3),), of("level_set", _level_set)),
    Program("CTC gradient, 16 x 64", (floats(16, 64, 32), ints(31, 16, 12)), of("ctc", _ctc)),
    Program(
        "graph attention, 4,096 edges",
        (
            *(floats(512, 32), ints(512, 4096), ints(512, 4096)),
            *(floats(32, 64, scale=0.2), floats(4, 16), floats(4, 16)),
        ),
        of("graph_attention", _graph_attention),
    ),
    Program("game of life, 128²", (floats(128, 128),), of("life", _life)),
    Program(
        "contrastive loss, 512 pairs",
        (floats(128, 64, scale=0.2), floats(100, 64, scale=0.2), floats(512, 128), floats(512, 100)),
        of("contrastive", _contrastive),
    ),
    Program("CRC-32 of 5,003 messages", (ints(256, 5003, 128),), of("checksums", _checksums)),
    Program("Tucker product, 48³", (floats(24, 24, 24), *(floats(48, 24, scale=0.2),) * 3), of("tucker", _tucker)),
    Program("mutual likelihood, 512²", (floats(512, 512),), of("normalized", _normalized)),
    Program(
        "two of eight experts, 211 tokens",
        (floats(32, 8, scale=0.3), floats(8, 32, 64, scale=0.2), floats(8, 64, 32, scale=0.2), floats(211, 32)),
        of("experts", _experts),
    ),
)
