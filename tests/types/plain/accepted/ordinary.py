"""Ordinary tinygrad programs, without a brand."""
# mypy: allow-untyped-calls

from typing import assert_type

from tinygrad import Context, GlobalCounters, Tensor, TinyJit, dtypes, function, nn
from tinygrad.nn.optim import SGD, Adam
from tinygrad.nn.state import get_parameters, get_state_dict, load_state_dict

# --- arithmetic, methods and reads
t = Tensor([[1.0, 2.0], [3.0, 4.0]])
assert_type(t + 1, Tensor)
assert_type(2 * t - t @ t, Tensor)
assert_type((t > 0).where(t, 0).sum(), Tensor)
assert_type(t.realize(), Tensor)
print(t.numpy().shape, t.tolist(), t.sum().item())


# --- a function of tensors
def distance(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum().sqrt()


assert_type(distance(t, t[0]), Tensor)


# --- a class of layers, and a step of training
class Net:
    def __init__(self) -> None:
        self.first, self.second = nn.Linear(2, 8), nn.Linear(8, 2)

    def __call__(self, x: Tensor) -> Tensor:
        return self.second(self.first(x).relu())


def train(net: Net, x: Tensor, y: Tensor) -> Tensor:
    optimizer = Adam(get_parameters(net), lr=0.01)
    with Context(TRAINING=1):
        optimizer.zero_grad()
        loss = net(x).sparse_categorical_crossentropy(y).backward()
        optimizer.step()
    return loss


# --- optimizers and state
layer = nn.Linear(2, 2)
sgd = SGD(get_parameters(layer), lr=0.1, momentum=0.9)
load_state_dict(layer, get_state_dict(layer))


# --- TinyJit
@TinyJit
def jitted(x: Tensor) -> Tensor:
    return (x * 2).realize()


assert_type(jitted(t), Tensor)


# --- tinygrad's function decorator
@function
def compiled(x: Tensor) -> Tensor:
    return x.exp().sum()


assert_type(compiled(t), Tensor)

# --- dtypes and devices
half = t.cast(dtypes.half).to("CPU")
assert_type(half, Tensor)
assert_type(Tensor.zeros(2, dtype=dtypes.int32), Tensor)

# --- Context and GlobalCounters
GlobalCounters.reset()
with Context(DEBUG=0):
    t.realize()
print(GlobalCounters.global_ops)

# --- assignment and views
w = Tensor.zeros(4).contiguous()
w.assign(Tensor.ones(4))
w[0] = 1.0
assert_type(w[1:3], Tensor)
