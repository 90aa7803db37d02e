from tinygrad import Tensor

from branded import vmap

guesses, truths = Tensor([1.0, 2.0, 3.0]), Tensor([1.0, 2.0, 5.0])
print(vmap(lambda guess, truth: (guess - truths).abs().sum(), strict=True)(guesses, truths).tolist())
