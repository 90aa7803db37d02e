"""The programs of `kinds.py` in JAX, with the same arguments and results."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import grad, hessian, jacfwd, lax, nn, random, value_and_grad, vmap
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import logsumexp


def particle_filter(key: Any, seen: Any) -> Any:
    n = 512

    def step(carry: Any, y: Any) -> Any:
        x, key = carry
        key, push, pick = random.split(key, 3)
        x = 0.5 * x + 25 * x / (1 + x * x) + random.normal(push, (n,)) * 3
        weights = nn.softmax(-0.5 * (y - x * x / 20) ** 2)
        at = (random.uniform(pick) + jnp.arange(n)) / n
        chosen = (jnp.cumsum(weights)[None] < at[:, None]).sum(1).clip(0, n - 1)
        return (x[chosen], key), (weights * x).sum()

    key = key.astype("uint32")
    start, key = random.split(key)
    return lax.scan(step, (random.normal(start, (n,)), key), seen)[1]


def graph_network(nodes: Any, source: Any, target: Any, w1: Any, w2: Any, w3: Any) -> Any:
    def loss(ws: Any) -> Any:
        x = nodes
        for _ in range(3):
            messages = nn.relu(jnp.concatenate([x[source], x[target]], 1) @ ws[0])
            x = x + jnp.tanh(x @ ws[1] + jnp.zeros(x.shape).at[target].add(messages))
        return jnp.square(x @ ws[2]).mean()

    return grad(loss)((w1, w2, w3))


def bundle_adjustment(cameras: Any, points: Any, camera: Any, point: Any, seen: Any) -> Any:
    def rotate(r: Any, p: Any) -> Any:
        angle = jnp.sqrt(jnp.square(r).sum() + 1e-8)
        k = r / angle
        cross = jnp.stack([k[1] * p[2] - k[2] * p[1], k[2] * p[0] - k[0] * p[2], k[0] * p[1] - k[1] * p[0]])
        return p * jnp.cos(angle) + cross * jnp.sin(angle) + k * (k * p).sum() * (1 - jnp.cos(angle))

    def residual(c: Any, p: Any, y: Any) -> Any:
        q = rotate(c[:3], p) + c[3:6]
        flat = q[:2] / (q[2] + 5)
        return flat * (1 + 0.01 * jnp.square(flat).sum()) - y

    r = vmap(residual)(cameras[camera], points[point], seen)
    j = vmap(jacfwd(residual))(cameras[camera], points[point], seen)
    n = cameras.shape[0]
    normal = jax.ops.segment_sum(j.transpose(0, 2, 1) @ j, camera, n) + 0.1 * jnp.eye(6)
    slope = jax.ops.segment_sum((j * r[..., None]).sum(1), camera, n)
    return cameras - vmap(jnp.linalg.solve)(normal, slope), jnp.square(r).sum()


def quantum_circuit(angles: Any) -> Any:
    n = 6

    def apply(gate: Any, state: Any, q: int) -> Any:
        return (gate @ state.reshape(2**q, 2, -1)).reshape(state.shape)

    def energy(angles: Any) -> Any:
        re = jnp.where(jnp.arange(2**n) == 0, 1.0, 0.0).reshape((2,) * n)
        im = re * 0
        for layer in range(3):
            for q in range(n):
                c, s = jnp.cos(angles[layer, q, 0] / 2), jnp.sin(angles[layer, q, 0] / 2)
                gate = jnp.stack([jnp.stack([c, -s]), jnp.stack([s, c])])
                re, im = (apply(gate, x, q) for x in (re, im))
                c, s = jnp.cos(angles[layer, q, 1] / 2), jnp.sin(angles[layer, q, 1] / 2)
                sign = jnp.array([-1.0, 1.0]).reshape([2 if i == q else 1 for i in range(n)])
                re, im = re * c - im * s * sign, im * c + re * s * sign
            for q in range(n - 1):
                both = [2 if i in (q, q + 1) else 1 for i in range(n)]
                sign = jnp.array([1.0, 1.0, 1.0, -1.0]).reshape(both)
                re, im = re * sign, im * sign
        odds = re * re + im * im
        total = 0
        for q in range(n):
            total = total + (odds * jnp.array([1.0, -1.0]).reshape([2 if i == q else 1 for i in range(n)])).sum()
        return total

    return vmap(value_and_grad(energy))(angles)


def beam_search(table: Any, start: Any) -> Any:
    k = 4

    def step(carry: Any, _: Any) -> Any:
        scores, last = carry
        found = scores[:, None] + nn.log_softmax(table)[last]
        best, at = lax.top_k(found.reshape(-1), k)
        return (best, at % 64), (at // 64, at % 64)

    def search(first: Any) -> Any:
        scores, last = lax.top_k(nn.log_softmax(first), k)
        (scores, _), (parents, letters) = lax.scan(step, (scores, last), None, length=24)
        return scores, parents, letters

    return vmap(search)(start)


def spectral_method(u: Any) -> Any:
    n = u.shape[0]
    k = jnp.arange(n).astype("float32")
    k = jnp.where(k < n // 2, k, k - n)
    decay = jnp.exp(-0.01 * 0.002 * k * k)

    def step(_: Any, state: Any) -> Any:
        flat = jnp.fft.ifft(state).real
        return (state - 0.002 * 0.5j * k * jnp.fft.fft(flat * flat)) * decay

    return jnp.fft.ifft(lax.fori_loop(0, 50, step, jnp.fft.fft(u))).real


def int8(x: Any, w1: Any, w2: Any, w3: Any) -> Any:
    def quantized(x: Any) -> Any:
        scale = jnp.abs(x).max() / 127
        return jnp.round(x / scale).clip(-127, 127).astype("int8"), scale

    for i, w in enumerate((w1, w2, w3)):
        q, s = quantized(x)
        p, t = quantized(w)
        x = (q.astype("int32") @ p.astype("int32")).astype("float32") * (s * t)
        x = nn.relu(x) if i < 2 else x
    return x


def lennard_jones(x: Any, v: Any) -> Any:
    box = 6.0
    n = x.shape[0]

    def energy(x: Any) -> Any:
        d = x[:, None] - x[None]
        d = d - box * jnp.round(d / box)
        r2 = jnp.square(d).sum(-1) + jnp.eye(n) * 100.0
        r6 = (0.5 / (r2 + 0.3)) ** 3
        return 2 * (r6 * r6 - r6).sum()

    def step(state: Any, _: Any) -> Any:
        x, v, f = state
        v = v + 0.0005 * f
        x = x + 0.001 * v
        f = -grad(energy)(x)
        v = v + 0.0005 * f
        return (x, v, f), 0.5 * jnp.square(v).sum() + energy(x)

    return lax.scan(step, (x, v, -grad(energy)(x)), None, length=20)[1]


def state_space(x: Any, a: Any, b: Any, c: Any) -> Any:
    def combine(left: Any, right: Any) -> Any:
        return left[0] * right[0], right[0] * left[1] + right[1]

    def loss(ws: Any) -> Any:
        a, b, c = ws

        def one(x: Any) -> Any:
            decay = jnp.broadcast_to(jnp.exp(-jnp.exp(a)), (x.shape[0], a.shape[0]))
            _, h = lax.associative_scan(combine, (decay, x @ b))
            return jnp.tanh(h @ c)

        return jnp.square(vmap(one)(x) - x).mean()

    return grad(loss)((a, b, c))


def unet(x: Any, w1: Any, w2: Any, w3: Any, w4: Any) -> Any:
    def conv(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)))

    def loss(ws: Any) -> Any:
        down = nn.relu(conv(x, ws[0]))
        pooled = lax.reduce_window(down, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        middle = nn.relu(conv(pooled, ws[1]))
        numbers = ("NCHW", "OIHW", "NCHW")
        up = nn.relu(lax.conv_transpose(middle, ws[2], (2, 2), "VALID", None, numbers, transpose_kernel=True))
        return jnp.square(conv(jnp.concatenate([up, down], 1), ws[3]) - x).mean()

    return value_and_grad(loss)((w1, w2, w3, w4))


def decoding(embed: Any, wq: Any, wk: Any, wv: Any, wo: Any, first: Any) -> Any:
    d, length = embed.shape[1], 48

    def one(letter: Any) -> Any:
        def step(carry: Any, i: Any) -> Any:
            letter, keys, values = carry
            x = embed[letter]
            keys = lax.dynamic_update_slice(keys, (x @ wk).reshape(1, 4, -1), (i, 0, 0))
            values = lax.dynamic_update_slice(values, (x @ wv).reshape(1, 4, -1), (i, 0, 0))
            q = (x @ wq).reshape(4, -1)
            scores = (keys * q).sum(-1) / math.sqrt(d / 4)
            weights = nn.softmax(jnp.where((jnp.arange(length) <= i)[:, None], scores, -1e9), 0)
            out = x + (weights[..., None] * values).sum(0).reshape(-1) @ wo
            normed = (out - out.mean()) / jnp.sqrt(out.var() + 1e-5)
            letter = (normed @ embed.T).argmax().astype("int32")
            return (letter, keys, values), letter

        cache = jnp.zeros((length, 4, d // 4))
        return lax.scan(step, (letter, cache, cache), jnp.arange(length))[1]

    return vmap(one)(first)


def greeks(spot: Any, strike: Any, noise: Any) -> Any:
    def normal(x: Any) -> Any:
        return 0.5 * (1 + lax.erf(x / math.sqrt(2)))

    def price(p: Any) -> Any:
        s, k, r, sigma, t = p
        d1 = (jnp.log(s / k) + (r + sigma * sigma / 2) * t) / (sigma * jnp.sqrt(t))
        return s * normal(d1) - k * jnp.exp(-r * t) * normal(d1 - sigma * jnp.sqrt(t))

    def asian(p: Any) -> Any:
        steps = (p[2] - p[3] * p[3] / 2) / 32 + p[3] * math.sqrt(1 / 32) * noise
        return nn.relu((p[0] * jnp.exp(jnp.cumsum(steps, 1))).mean(1) - p[1]).mean() * jnp.exp(-p[2])

    s, k = 100 + 5 * spot, 100 + 5 * strike
    p = jnp.stack([s, k, s * 0 + 0.03, s * 0 + 0.2, s * 0 + 1.0], 1)
    return vmap(price)(p), vmap(grad(price))(p), vmap(hessian(price))(p), vmap(grad(asian))(p[:8])


def hidden_markov(start: Any, moves: Any, emits: Any, seen: Any) -> Any:
    def likelihood(ws: Any, ys: Any) -> Any:
        moves, emits = nn.log_softmax(ws[0]), nn.log_softmax(ws[1])

        def step(alpha: Any, y: Any) -> Any:
            return logsumexp(alpha[:, None] + moves, 0) + emits[:, y], 0

        return logsumexp(lax.scan(step, nn.log_softmax(start) + emits[:, ys[0]], ys[1:])[0])

    def viterbi(ys: Any) -> Any:
        logs, out = nn.log_softmax(moves), nn.log_softmax(emits)

        def step(score: Any, y: Any) -> Any:
            found = score[:, None] + logs
            return found.max(0) + out[:, y], found.argmax(0)

        last, parents = lax.scan(step, nn.log_softmax(start) + out[:, ys[0]], ys[1:])
        return lax.scan(lambda s, p: (p[s], p[s]), last.argmax(), parents, reverse=True)[1]

    return vmap(grad(likelihood), in_axes=(None, 0))((moves, emits), seen), vmap(viterbi)(seen)


def sinkhorn(x: Any, y: Any) -> Any:
    def distance(x: Any) -> Any:
        cost = jnp.square(x[:, None] - y[None]).sum(-1)
        n = cost.shape[0]

        def step(state: Any, _: Any) -> Any:
            f, g = state
            f = -0.1 * logsumexp((g - cost) / 0.1 - math.log(n), 1)
            g = -0.1 * logsumexp((f[:, None] - cost) / 0.1 - math.log(n), 0)
            return (f, g), None

        (f, g), _ = lax.scan(step, (cost[:, 0] * 0, cost[0] * 0), None, length=30)
        plan = jnp.exp((f[:, None] + g - cost) / 0.1) / n**2
        return (plan * cost).sum()

    return value_and_grad(distance)(x)


def kalman_smoother(seen: Any, noise: Any) -> Any:
    step_of = jnp.array([[1.0, 0.0, 0.1, 0.0], [0.0, 1.0, 0.0, 0.1], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    look = jnp.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])

    def likelihood(noise: Any, ys: Any) -> Any:
        q, r = jnp.exp(noise[0]) * jnp.eye(4), jnp.exp(noise[1]) * jnp.eye(2)

        def step(state: Any, y: Any) -> Any:
            m, p = state
            m, p = step_of @ m, step_of @ p @ step_of.T + q
            s = look @ p @ look.T + r
            gain = jnp.linalg.solve(s, look @ p).T
            e = y - look @ m
            score = -0.5 * ((e * jnp.linalg.solve(s, e)).sum() + jnp.linalg.slogdet(s)[1])
            return (m + gain @ e, p - gain @ look @ p), score

        return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), ys)[1].sum()

    return vmap(value_and_grad(likelihood), in_axes=(None, 0))(noise, seen)


def process(xs: Any, ys: Any, test: Any, scales: Any) -> Any:
    def kernel(s: Any, a: Any, b: Any) -> Any:
        return jnp.exp(s[0]) * jnp.exp(-0.5 * jnp.square(a[:, None] - b[None]).sum(-1) / jnp.exp(s[1]))

    def factor(s: Any) -> Any:
        return jnp.linalg.cholesky(kernel(s, xs, xs) + (0.1 + jnp.exp(s[2])) * jnp.eye(xs.shape[0]))

    def evidence(s: Any) -> Any:
        f = factor(s)
        z = solve_triangular(f, ys, lower=True)
        return -0.5 * jnp.square(z).sum() - jnp.log(jnp.diagonal(f)).sum()

    f, across = factor(scales), kernel(scales, xs, test)
    half = solve_triangular(f, across, lower=True)
    mean = half.T @ solve_triangular(f, ys, lower=True)
    return mean, jnp.exp(scales[0]) - jnp.square(half).sum(0), grad(evidence)(scales)


def clusters(x: Any) -> Any:
    k = 16

    def assign(c: Any) -> Any:
        return vmap(lambda x: jnp.square(c - x).sum(1).argmin())(x)

    def step(state: Any) -> Any:
        i, c, _ = state
        a = assign(c)
        count = jnp.maximum(jax.ops.segment_sum(jnp.ones(x.shape[0]), a, k), 1)
        new = jax.ops.segment_sum(x, a, k) / count[:, None]
        return i + 1, new, jnp.abs(new - c).max()

    init = (jnp.int32(0), x[:k], jnp.float32(1))
    _, c, _ = lax.while_loop(lambda s: (s[0] < 50) & (s[2] > 1e-4), step, init)
    return c, assign(c)


def fixed_point(w: Any, x: Any) -> Any:
    def loss(w: Any) -> Any:
        def step(_: Any, z: Any) -> Any:
            return jnp.tanh(z @ w + x)

        return jnp.square(lax.fori_loop(0, 40, step, x * 0)).mean()

    return grad(loss)(w)


def attention_blocks(x: Any, wq: Any, wk: Any, wv: Any, lengths: Any) -> Any:
    def loss(ws: Any) -> Any:
        def one(x: Any, n: Any) -> Any:
            q, k, v = ((x @ w).reshape(-1, 4, 16).transpose(1, 0, 2) for w in ws)
            i = jnp.arange(x.shape[0])
            seen = (i[None] <= i[:, None]) & (i < n)
            a = nn.softmax(jnp.where(seen, q @ k.transpose(0, 2, 1) / 4, -1e9))
            return jnp.square((a @ v) * (i < n)[:, None]).sum()

        return vmap(one)(x, lengths).mean()

    return value_and_grad(loss)((wq, wk, wv))


def level_set(phi: Any) -> Any:
    sign = phi / jnp.sqrt(phi * phi + 1e-2)

    def largest(a: Any, b: Any) -> Any:
        return jnp.maximum(jnp.square(jnp.maximum(a, 0)), jnp.square(jnp.minimum(b, 0)))

    def step(phi: Any, _: Any) -> Any:
        p = jnp.pad(phi, 1, mode="edge")
        a, b = phi - p[:-2, 1:-1], p[2:, 1:-1] - phi
        c, d = phi - p[1:-1, :-2], p[1:-1, 2:] - phi
        outward, inward = jnp.sqrt(largest(a, b) + largest(c, d)), jnp.sqrt(largest(-a, -b) + largest(-c, -d))
        phi = phi - 0.3 * sign * (jnp.where(sign > 0, outward, inward) - 1)
        return phi, (phi < 0).sum()

    return lax.scan(step, phi, None, length=20)


def ctc(logits: Any, labels: Any) -> Any:
    least = -1e30

    def one(logits: Any, labels: Any) -> Any:
        n = 2 * labels.shape[0] + 1
        path = jnp.pad(jnp.stack([jnp.zeros_like(labels), labels], 1).reshape(-1), (0, 1))
        may_skip = (path != 0) & (path != jnp.pad(path, (2, 0), constant_values=-1)[:n])
        seen = nn.log_softmax(logits)[:, path]

        def step(a: Any, seen: Any) -> Any:
            b = jnp.pad(a, (1, 0), constant_values=least)[:n]
            c = jnp.where(may_skip, jnp.pad(a, (2, 0), constant_values=least)[:n], least)
            top = jnp.maximum(jnp.maximum(a, b), c)
            return top + jnp.log(jnp.exp(a - top) + jnp.exp(b - top) + jnp.exp(c - top)) + seen, None

        a, _ = lax.scan(step, jnp.where(jnp.arange(n) < 2, seen[0], least), seen[1:])
        return -nn.logsumexp(a[-2:])

    return value_and_grad(lambda logits: vmap(one)(logits, labels + 1).mean())(logits)


def graph_attention(x: Any, source: Any, target: Any, w: Any, a: Any, b: Any) -> Any:
    n = x.shape[0]

    def loss(ws: Any) -> Any:
        w, a, b = ws
        h = (x @ w).reshape(n, *a.shape)
        score = nn.leaky_relu((h * a).sum(-1)[source] + (h * b).sum(-1)[target], 0.2)
        weight = jnp.exp(score - lax.stop_gradient(jax.ops.segment_max(score, target, n))[target])
        share = weight / (jax.ops.segment_sum(weight, target, n)[target] + 1e-9)
        return jnp.square(nn.elu(jax.ops.segment_sum(share[..., None] * h[source], target, n))).mean()

    return value_and_grad(loss)((w, a, b))


def life(start: Any) -> Any:
    def step(cells: Any, _: Any) -> Any:
        near = [jnp.roll(cells, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
        count = sum(near[1:], near[0])
        cells = ((count == 3) | ((count == 2) & (cells == 1))).astype(jnp.uint8)
        return cells, cells.astype(jnp.int32).sum()

    return lax.scan(step, (start > 0).astype(jnp.uint8), None, length=30)


def contrastive(a: Any, b: Any, x: Any, y: Any) -> Any:
    def loss(ws: Any) -> Any:
        u, v = x @ ws[0], y @ ws[1]
        u, v = (z / jnp.sqrt(jnp.square(z).sum(1, keepdims=True) + 1e-6) for z in (u, v))
        score = u @ v.T / 0.1
        return -(jnp.diagonal(nn.log_softmax(score, 1)) + jnp.diagonal(nn.log_softmax(score, 0))).mean()

    return value_and_grad(loss)((a, b))


def checksums(messages: Any) -> Any:
    def byte(crc: Any, b: Any) -> Any:
        crc = crc ^ b
        for _ in range(8):
            crc = jnp.where(crc & 1, (crc >> 1) ^ jnp.uint32(0xEDB88320), crc >> 1)
        return crc, None

    return vmap(lambda message: ~lax.scan(byte, jnp.uint32(0xFFFFFFFF), message)[0])(messages.astype("uint32"))


def tucker(core: Any, a: Any, b: Any, c: Any) -> Any:
    whole = jnp.einsum("abc,ia,jb,kc->ijk", core, a, b, c)
    return whole, jnp.square(whole).sum((1, 2))


def normalized(score: Any) -> Any:
    likelihood = 2 * score - logsumexp(score, 0, keepdims=True) - logsumexp(score, 1, keepdims=True)
    return jnp.exp(likelihood), logsumexp(score, 0) + logsumexp(score, 1)


def experts(gate: Any, w1: Any, w2: Any, x: Any) -> Any:
    def token(x: Any) -> Any:
        weight, chosen = lax.top_k(nn.softmax(x @ gate), 2)
        hidden = nn.relu(jnp.einsum("d,kdh->kh", x, w1[chosen]))
        return jnp.einsum("k,kh,khd->d", weight / weight.sum(), hidden, w2[chosen])

    return vmap(token)(x)
