"""Batched values in optimizers, minimizers and their trees cannot be read."""

import operator

from tinygrad import Tensor

from branded import grad, optim, tree, vmap

x, w = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), Tensor([1.0, 2.0])
rates = Tensor([0.1, 0.2, 0.3])
opt = optim.sgd(0.1)


# --- an update is read
def trained(p: Tensor) -> Tensor:
    updates, _ = opt.update(grad(lambda q: q.square().sum())(p), opt.init(p), p)
    if updates.sum() > 0:  # E: bool: a value that varies over "p" has no single truth value
        return p
    return optim.apply_updates(p, updates)


vmap(trained)(x)

# --- the learning rate makes the update vary
vmap(lambda r: optim.sgd(r).update(w, opt.init(w))[0].tolist())(rates)  # E: tolist: a value that varies over "r"

# --- parameters vary over the learning rate that their updates have
vmap(lambda r: optim.apply_updates(w, optim.adam(r).update(w, opt.init(w))[0]).item())(rates)  # E: item: a value

# --- the norm of gradients is read
vmap(lambda a: a if optim.global_norm([a]) > 1 else a / 2)(x)  # E: bool: a value that varies over "a"

# --- each minimization has its own success
vmap(lambda a: optim.minimize(lambda v: (v - a).square().sum(), a).success.item())(x)  # E: item: a value that varies

# --- the function to minimize is traced
optim.minimize(lambda v: v.sum() if v.max() > 1 else -v.sum(), w)  # E: bool: a value that varies over "minimize"

# --- a leaf is read
vmap(lambda a: tree.leaves({"w": a})[0].item())(x)  # E: item: a value that varies over "a"

# --- all leaves have to be true
vmap(lambda a: a if tree.all([a > 1]) else w)(x)  # E: bool: a value that varies over "a"

# --- a raveled tree is read
vmap(lambda a: tree.ravel([w])[1](a)[0].numpy())(x)  # E: numpy: a value that varies over "a"

# --- a sum of leaves is read
vmap(lambda a: tree.reduce(lambda n, v: n + v.sum(), [a], 0.0).item())(x)  # E: item: a value that varies over "a"

# --- a value times a power of ints is read
vmap(lambda a: [(a * 2**k).item() for k in range(2)])(x)  # E: item: a value that varies over "a"

# --- a sum by operator is read
vmap(lambda a: operator.add(a, w).tolist())(x)  # E: tolist: a value that varies over "a"
