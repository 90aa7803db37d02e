"""The applications of `examples/` in JAX, with the same arguments and results."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import grad, lax, random, vmap
from jax.scipy.linalg import solve_triangular


def hmc(keys: Any) -> Any:
    keys = keys.astype("uint32")

    def energy(q: Any) -> Any:
        return 0.5 * q[0] * q[0] + 2 * (q[1] - 0.5 * q[0] * q[0]) ** 2

    def leap(_: int, state: Any) -> Any:
        q, p = state
        p = p - 0.1 * grad(energy)(q)
        q = q + 0.2 * p
        return q, p - 0.1 * grad(energy)(q)

    def move(q: Any, key: Any) -> Any:
        push, toss = random.split(key)
        p = random.normal(push, (2,))
        new_q, new_p = lax.fori_loop(0, 8, leap, (q, p))
        gain = energy(q) + 0.5 * (p * p).sum() - energy(new_q) - 0.5 * (new_p * new_p).sum()
        q = jnp.where(jnp.log(random.uniform(toss)) < gain, new_q, q)
        return q, q

    def chain(key: Any) -> Any:
        start, moves = random.split(key)
        return lax.scan(move, random.normal(start, (2,)), random.split(moves, 50))[1]

    return vmap(chain)(keys)


def kmeans(points: Any, keys: Any) -> Any:
    keys = keys.astype("uint32")

    def distances(centers: Any) -> Any:
        return vmap(lambda x: vmap(lambda c: ((x - c) ** 2).sum())(centers))(points)

    def improve(_: int, centers: Any) -> Any:
        nearest = jax.nn.one_hot(distances(centers).argmin(1), 3)
        count = nearest.sum(0)[:, None]
        return jnp.where(count > 0, nearest.T @ points / jnp.maximum(count, 1), centers)

    def cluster(key: Any) -> Any:
        start = points[random.permutation(key, points.shape[0])[:3]]
        centers = lax.fori_loop(0, 20, improve, start)
        return centers, distances(centers).min(1).sum()

    return vmap(cluster)(keys)


def nbody(xs: Any, vs: Any, masses: Any) -> Any:
    masses = jnp.exp(masses)

    def field(x: Any, ys: Any) -> Any:
        return vmap(lambda y, m: -m / jnp.sqrt(((x - y) ** 2).sum() + 0.05**2))(ys, masses).sum()

    def fall(xs: Any) -> Any:
        return vmap(lambda x: -grad(field)(x, xs))(xs)

    def step(state: Any, _: None) -> Any:
        xs, vs = state
        vs = vs + 0.005 * fall(xs)
        xs = xs + 0.01 * vs
        return (xs, vs + 0.005 * fall(xs)), xs

    return lax.scan(step, (xs, vs), None, length=20)[1]


def raymarch(ys: Any, xs: Any) -> Any:
    height, width = ys.shape[0], xs.shape[0]
    ys, xs = jnp.arange(height, dtype=jnp.float32), jnp.arange(width, dtype=jnp.float32)
    eye, light = jnp.array([0.0, 0.6, -3.0]), jnp.array([0.6, 0.7, -0.4])
    light = light / jnp.sqrt((light * light).sum())

    def norm(x: Any) -> Any:
        return jnp.sqrt((x * x).sum())

    def scene(p: Any) -> Any:
        ball = norm(p - jnp.array([0.0, 0.35, 0.0])) - 0.55
        across = jnp.sqrt(p[0] ** 2 + p[2] ** 2) - 1.0
        ring = jnp.sqrt(across**2 + (p[1] + 0.05) ** 2) - 0.18
        blend = (0.5 + 2.0 * (ring - ball)).clip(0, 1)
        return jnp.minimum(ring + (ball - ring) * blend - 0.125 * blend * (1 - blend), p[1] + 0.4)

    def march(start: Any, ray: Any) -> Any:
        def step(state: Any) -> Any:
            far, clear = state
            return far + clear, scene(start + (far + clear) * ray)

        def go_on(state: Any) -> Any:
            return (state[1] > 1e-3) & (state[0] < 12.0)

        return lax.while_loop(go_on, step, (jnp.float32(0), scene(start)))[0]

    def pixel(x: Any, y: Any) -> Any:
        ray = jnp.stack([(x + 0.5 - width / 2) / height, (height / 2 - 0.5 - y) / height - 0.15, x * 0 + 1.2])
        ray = ray / norm(ray)
        far = march(eye, ray)
        at = eye + far * ray
        normal = grad(scene)(at)
        shine = (normal * light).sum().clip(0, 1) / norm(normal)
        shadow = jnp.where(march(at + 0.02 * normal, light) > 8.0, 1.0, 0.3)
        return jnp.where(far < 12.0, 0.1 + 0.9 * shine * shadow, 0.75)

    return vmap(lambda y: vmap(lambda x: pixel(x, y))(xs))(ys)


def maml(w1: Any, b1: Any, w2: Any, b2: Any, keys: Any) -> Any:
    w, keys = (w1, b1, w2, b2[0]), keys.astype("uint32")

    def predict(w: Any, x: Any) -> Any:
        return (jnp.tanh(w[0] * x + w[1]) * w[2]).sum() + w[3]

    def loss(w: Any, xs: Any, ys: Any) -> Any:
        return vmap(lambda x, y: (predict(w, x) - y) ** 2)(xs, ys).mean()

    def task(key: Any) -> Any:
        height, shift, where = random.split(key, 3)
        xs = random.uniform(where, (20,), minval=-3.0, maxval=3.0)
        return xs, random.uniform(height, minval=0.5, maxval=2.0) * jnp.sin(xs + random.uniform(shift, maxval=3.0))

    def after_adapting(w: Any, key: Any) -> Any:
        xs, ys = task(key)
        adapted = tuple(a - 0.05 * b for a, b in zip(w, grad(loss)(w, xs[:10], ys[:10]), strict=True))
        return loss(adapted, xs[10:], ys[10:])

    return grad(lambda w: vmap(lambda key: after_adapting(w, key))(keys).mean())(w)


def evolution(noise: Any, starts: Any) -> Any:
    def physics(state: Any, force: Any) -> Any:
        _, speed, angle, turn = state
        sin, cos = jnp.sin(angle), jnp.cos(angle)
        push = (force + 0.05 * turn**2 * sin) / 1.1
        spin = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        return state + 0.02 * jnp.stack([speed, push - 0.05 * spin * cos / 1.1, turn, spin])

    def fall(w: Any, start: Any) -> Any:
        def step(carry: Any, _: None) -> Any:
            state, stands = carry
            state = physics(state, 10 * jnp.tanh((w * state).sum()))
            stands = stands * ((abs(state[2]) < 0.2) & (abs(state[0]) < 2.4)).astype(jnp.float32)
            return (jnp.where(stands > 0, state, 0), stands), stands

        return lax.scan(step, (start, jnp.float32(1)), None, length=200)[1].sum()

    return vmap(lambda n: vmap(lambda start: fall(0.5 * n, start))(starts).mean())(noise)


def edit_distance(letters: Any, lengths: Any) -> Any:
    columns = jnp.arange(letters.shape[1] + 1)

    def distance(a: Any, n: Any, b: Any, m: Any) -> Any:
        def next_row(row: Any, letter: Any) -> Any:
            above = jnp.minimum(row + 1, jnp.concatenate([row[:1] + 1, row[:-1] + (b != letter)]))
            row = columns - lax.cummax(columns - above)
            return row, row

        rows = jnp.concatenate([columns[None], lax.scan(next_row, columns, a)[1]])
        return rows[n][m]

    return vmap(lambda a, n: vmap(lambda b, m: distance(a, n, b, m))(letters, lengths))(letters, lengths)


def ode(w1: Any, w2: Any, starts: Any, paths: Any) -> Any:
    def path(w: Any, start: Any) -> Any:
        def f(x: Any) -> Any:
            return w[1] @ jnp.tanh(w[0] @ x)

        def step(x: Any, _: None) -> Any:
            k1 = f(x)
            k2 = f(x + 0.05 * k1)
            k3 = f(x + 0.05 * k2)
            x = x + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + f(x + 0.1 * k3))
            return x, x

        return lax.scan(step, start, None, length=20)[1]

    def loss(w: Any) -> Any:
        return vmap(lambda x, y: ((path(w, x) - y) ** 2).mean())(starts, paths).mean()

    return grad(loss)((w1, w2))


def private_sgd(w: Any, b: Any, images: Any, labels: Any) -> Any:
    w = (w, b)

    def loss(w: Any, image: Any, label: Any) -> Any:
        return -jax.nn.log_softmax(w[0] @ image + w[1])[label]

    def clipped(image: Any, label: Any) -> Any:
        a, b = grad(loss)(w, image, label)
        scale = jnp.minimum(1.0 / jnp.maximum(jnp.sqrt((a * a).sum() + (b * b).sum()), 1e-12), 1.0)
        return a * scale, b * scale

    return [g.sum(0) for g in vmap(clipped)(images, labels)]


def kalman(seen: Any, noise: Any) -> Any:
    dt, noise = 0.1, jnp.exp(noise[0])
    move = jnp.array([[1.0, dt], [0.0, 1.0]])
    push = 0.5 * jnp.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    look = jnp.array([[1.0, 0.0]])

    def step(belief: Any, seen: Any) -> Any:
        mean, cov = belief
        mean, cov = move @ mean, move @ cov @ move.T + push
        spread = look @ cov @ look.T + noise
        gain = jnp.linalg.solve(spread, look @ cov).T
        surprise = seen - look @ mean
        likely = -0.5 * (surprise * jnp.linalg.solve(spread, surprise)).sum() - 0.5 * jnp.linalg.slogdet(spread)[1]
        return (mean + gain @ surprise, cov - gain @ look @ cov), (mean + gain @ surprise, likely)

    def track(y: Any) -> Any:
        means, likely = lax.scan(step, (jnp.zeros(2), jnp.eye(2)), y)[1]
        return means, likely.sum()

    return vmap(track)(seen)


def gaussian_process(xs: Any, ys: Any, scales: Any) -> Any:
    def evidence(log_scale: Any) -> Any:
        scale = jnp.exp(log_scale)
        k = vmap(lambda x: vmap(lambda y: jnp.exp(-0.5 * ((x - y) / scale) ** 2))(xs))(xs)
        lower = jnp.linalg.cholesky(k + 0.1**2 * jnp.eye(xs.shape[0]))
        white = solve_triangular(lower, ys, lower=True)
        return -0.5 * (white * white).sum() - jnp.log(jnp.diagonal(lower)).sum()

    return vmap(jax.value_and_grad(evidence))(scales)


def robot_arm(targets: Any, start: Any) -> Any:
    def hand(angles: Any) -> Any:
        turned, lengths = angles.cumsum(), jnp.array([1.0, 0.8, 0.6])
        return jnp.stack([jnp.cos(turned) * lengths, jnp.sin(turned) * lengths], 1).cumsum(0)[-1]

    def reach(target: Any) -> Any:
        def improve(_: int, angles: Any) -> Any:
            jacobian = jax.jacfwd(hand)(angles)
            square = jacobian @ jacobian.T + 0.01 * jnp.eye(2)
            return angles + jacobian.T @ jnp.linalg.solve(square, target - hand(angles))

        return lax.fori_loop(0, 30, improve, start)

    return vmap(reach)(targets + 1)
