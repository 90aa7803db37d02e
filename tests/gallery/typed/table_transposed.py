from tinygrad import Tensor

from branded import Axes, Brand, as_axes, vmap


class Queries(Brand): ...


class Documents(Brand): ...


queries = as_axes(Tensor([1.0, 2.0]), Queries)
documents = as_axes(Tensor([10.0, 30.0]), Documents)
scores = vmap(lambda document: vmap(lambda query: document - query)(queries))(documents)
best: Axes[Queries] = scores.argmax(1)
print(best.tolist())
