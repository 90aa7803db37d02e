import torch

queries, documents = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 30.0])
scores = torch.vmap(lambda document: torch.vmap(lambda query: document - query)(queries))(documents)
print(scores.argmax(1).tolist())  # the best document of each query
