"""A small convolutional network with a jitted training step, as in tinygrad's guide to MNIST, on random images."""

from collections.abc import Callable
from typing import assert_type

from tinygrad import Context, GlobalCounters, Tensor, TinyJit, nn


class Model:
    def __init__(self) -> None:
        self.layers: list[Callable[[Tensor], Tensor]] = [
            nn.Conv2d(1, 4, 5),
            Tensor.relu,
            nn.BatchNorm(4),
            Tensor.max_pool2d,
            lambda x: x.flatten(1),
            nn.Linear(4 * 4 * 4, 10),
        ]

    def __call__(self, x: Tensor) -> Tensor:
        return x.sequential(self.layers)


images, labels = Tensor.randn(32, 1, 12, 12), Tensor.randint(32, high=10)
model = Model()
optimizer = nn.optim.Adam(nn.state.get_parameters(model), lr=0.01)


@TinyJit
def step() -> Tensor:
    with Context(TRAINING=1):
        optimizer.zero_grad()
        samples = Tensor.randint(8, high=images.shape[0])
        loss = model(images[samples]).sparse_categorical_crossentropy(labels[samples])
        loss.backward()
        optimizer.step()
        return loss


for _ in range(4):
    GlobalCounters.reset()
    assert_type(step(), Tensor)

accuracy = (model(images).argmax(axis=1) == labels).mean()
assert_type(accuracy, Tensor)
assert 0 <= accuracy.item() <= 1

state = nn.state.get_state_dict(model)
assert_type(state, dict[str, Tensor])
nn.state.load_state_dict(Model(), state, verbose=False)
