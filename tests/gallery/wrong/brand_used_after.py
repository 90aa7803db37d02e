from tinygrad import Tensor

from branded import brand

with brand("users", 2) as users:
    scores = users.vec(Tensor([1.0, 2.0])) * 10
print(users.unvec(scores).tolist())
