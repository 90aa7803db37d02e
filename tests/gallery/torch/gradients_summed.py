import torch

w, X = torch.tensor(2.0, requires_grad=True), torch.tensor([1.0, 2.0, 3.0])
torch.vmap(lambda x: (w * x).square())(X).sum().backward()
print(w.grad.square().tolist())  # the squared norm of each example's gradient
