from tinygrad import Tensor

from branded import vmap

queries, documents = Tensor([1.0, 2.0]), Tensor([10.0, 30.0])
scores = vmap(lambda document: vmap(lambda query: document - query)(queries))(documents)
print(scores.argmax(1).tolist())  # the best document of each query
