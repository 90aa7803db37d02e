"""Values of one example that outlive their vmap, in a file whose annotations have no brands."""

import heapq
import queue
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from functools import partial

from tinygrad import Tensor

from branded import vmap

x = Tensor([[1.0, 2.0], [3.0, 4.0]])
kept: list[Tensor] = []
functions: list[Callable[[], Tensor]] = []


# --- in a field of an object
class Net:
    last: Tensor

    def __init__(self) -> None:
        self.seen: list[Tensor] = []
        self.cache: dict[str, Tensor] = {}

    def note(self, a: Tensor) -> None:
        self.seen.append(a)  # E: escape: a value that varies is kept in `self.seen`, which outlives vmap

    def __call__(self, a: Tensor) -> Tensor:
        self.note(a)
        return a * 2

    def in_class(self, a: Tensor) -> Tensor:
        type(self).last = a  # E: escape: a value that varies is kept in `type(...).last`
        return a

    def in_named_class(self, a: Tensor) -> Tensor:
        Net.last = a  # E: escape: a value that varies is kept in `Net.last`
        return a

    def in_its_class(self, a: Tensor) -> Tensor:
        self.__class__.last = a  # E: escape: a value that varies is kept in `self.__class__.last`
        return a

    @classmethod
    def by_class(cls, a: Tensor) -> Tensor:
        cls.last = a  # E: escape: a value that varies is kept in `cls.last`
        return a

    def by_setattr(self, a: Tensor) -> Tensor:
        self.last = a  # E: escape: a value that varies is kept in `self.last`
        return a

    def by_vars(self, a: Tensor) -> Tensor:
        vars(self)["last"] = a  # E: escape: a value that varies is kept in `vars(...)['last']`
        return a

    def by_update(self, a: Tensor) -> Tensor:
        self.cache.update(last=a)  # E: escape: a value that varies is kept in `self.cache`
        return a


net = Net()
vmap(net)(x)
vmap(net.in_class)(x)
vmap(net.in_named_class)(x)
vmap(net.in_its_class)(x)
vmap(Net.by_class)(x)
vmap(net.by_setattr)(x)
vmap(net.by_vars)(x)
vmap(net.by_update)(x)
vmap(lambda a: setattr(net, "last", a))(x)  # E: escape: a value that varies is kept in `net.last`


# --- in a list that a called function receives
def keep(a: Tensor, into: list[Tensor]) -> Tensor:
    into.append(a)  # E: escape: a value that varies is kept in `into`, which outlives vmap
    return a


vmap(lambda a: keep(a, kept))(x)


# --- in a default value
def keep_in_default(a: Tensor, into: list[Tensor] = []) -> Tensor:  # noqa: B006
    into.append(a)  # E: escape: a value that varies is kept in `into`, which outlives vmap
    return a


vmap(keep_in_default)(x)


# --- in an exception
class DivergedError(Exception):
    def __init__(self, at: Tensor) -> None:
        super().__init__("diverged")
        self.at = at


def diverge(a: Tensor) -> Tensor:
    if a.ndim > 1:
        return a
    raise DivergedError(a)  # E: escape: a value that varies is raised in an exception, which outlives vmap


vmap(diverge)(x)


# --- in a function, bound by partial
def keep_partial(a: Tensor) -> Tensor:
    functions.append(partial(Tensor.sin, a))  # E: escape: a value that varies is kept in `functions`
    return a


vmap(keep_partial)(x)


# --- in a function that captures it
def keep_closure(a: Tensor) -> Tensor:
    functions.append(lambda: a)  # E: escape: a value that varies is kept in `functions`
    return a


vmap(keep_closure)(x)


# --- in a bound method
def keep_method(a: Tensor) -> Tensor:
    functions.append(a.sin)  # E: escape: a value that varies is kept in `functions`
    return a


vmap(keep_method)(x)


# --- in a context variable, and in a queue
level: ContextVar[Tensor] = ContextVar("level")
waiting: queue.Queue[Tensor] = queue.Queue()


def remembered(a: Tensor) -> Tensor:
    level.set(a)  # E: escape: a value that varies is kept in `level`, which outlives vmap
    waiting.put(a * 2)  # E: escape: a value that varies is kept in `waiting`, which outlives vmap
    return a


vmap(remembered)(x)


# --- in a heap, and in a future
ranked: list[tuple[int, Tensor]] = []
awaited: Future[Tensor] = Future()


def ranked_and_awaited(a: Tensor) -> Tensor:
    heapq.heappush(ranked, (1, a))  # E: escape: a value that varies is kept in `ranked`, which outlives vmap
    awaited.set_result(a * 2)  # E: escape: a value that varies is kept in `awaited`, which outlives vmap
    return a


def local_heap(a: Tensor) -> Tensor:
    own: list[tuple[int, Tensor]] = []
    heapq.heappush(own, (1, a))
    return heapq.heappop(own)[1]


vmap(ranked_and_awaited)(x)
vmap(local_heap)(x)
