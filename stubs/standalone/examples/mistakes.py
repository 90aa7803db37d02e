"""Mistakes: a type checker reports an error on each line with a comment, and on no other."""

from tinygrad import Tensor, nn

x = Tensor([1.0, 2.0])
x.summ()  # error: no such method
x.sum(axis="0")  # error: an axis is an int
x.reshape([1, 2], dim=3)  # error: no such argument
x + "1"  # error: a text is not a number
int(x)  # error: item() reads a number
name: str = x.sum().shape  # error: a tuple
value: int = x.max_pool2d(return_indices=True)  # error: two results
nn.Linear(4)  # error: the size of the result is missing
nn.Linear(4, 2)([1.0])  # error: a list is not a Tensor
nn.optim.Adam([x], lr="0.1")  # error: a rate is a float
