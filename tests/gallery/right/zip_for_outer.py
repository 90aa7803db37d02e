from tinygrad import Tensor

from branded import Brand, Vec, vmap


class Users(Brand): ...


class Items(Brand): ...


def score(user: Vec[Users], item: Vec[Items]) -> Vec[Users | Items]:
    return (user * item).sum()


def row(user: Vec[Users]) -> Vec[Users]:
    return vmap(lambda item: score(user, item), axis_name=Items)(items)


users = Tensor([[1.0, 0.0], [0.0, 1.0]])
items = Tensor([[2.0, 3.0], [4.0, 5.0]])
print(vmap(row, axis_name=Users)(users).tolist())
