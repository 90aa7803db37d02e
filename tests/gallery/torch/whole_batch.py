import torch

guesses, truths = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 5.0])
print(torch.vmap(lambda guess, truth: (guess - truths).abs().sum())(guesses, truths).tolist())
