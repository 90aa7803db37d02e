from tinygrad import Tensor

from branded import vmap

queries, documents = Tensor([1.0, 2.0]), Tensor([10.0, 30.0])
best = vmap(lambda query: vmap(lambda document: document - query)(documents).argmax())
print(best(queries).tolist())  # the best document of each query
