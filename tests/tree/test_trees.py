"""Check branded.tree, and that no public function depends on the order of keys in a dict."""

from __future__ import annotations

import dataclasses
import pickle
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from tinygrad import Context, Tensor, dtypes

from branded import (
    associative_scan,
    checkpoint,
    errors,
    grad,
    jit,
    jvp,
    optim,
    register_pytree_node,
    scan,
    tree,
    vjp,
    vmap,
)
from tests.support.by_numpy import read
from tests.support.profiles import check


@pytest.fixture(autouse=True, scope="module")
def interpreted() -> Iterator[None]:
    with Context(DEV="PYTHON"):
        yield


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Model:
    w: Any
    b: Any


class Line:
    def __init__(self, a: Any, b: Any, kind: str = "plain") -> None:
        self.a, self.b, self.kind = a, b, kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Line) and vars(self) == vars(other)


register_pytree_node(Line, lambda x: ((x.a, x.b), x.kind), lambda kind, ab: Line(*ab, kind))

TREE = {"b": [1, (2,)], "a": Point(3, None), "c": Model(4, deque([5])), "d": Line(6, {7: 7, "x": 8})}


# ---- values ----


def test_leaves_match_jax() -> None:
    assert tree.leaves({"b": [1, 2], "a": (3, None)}) == [3, 1, 2]  # jax.tree.leaves
    assert tree.leaves(OrderedDict(b=1, a=2)) == [2, 1]  # JAX keeps the order of keys only for an OrderedDict
    assert tree.leaves(TREE) == [3, 1, 2, 4, 5, 6, 7, 8]
    assert tree.leaves({frozenset({1}): "a", frozenset({2}): "b"}) == tree.leaves(
        {frozenset({2}): "b", frozenset({1}): "a"}
    )


def test_flatten_and_unflatten() -> None:
    found, structure = tree.flatten(TREE)
    again = tree.unflatten(structure, found)
    assert again == TREE and list(again) == list(TREE) and structure.num_leaves == 8
    assert tree.structure(again) == structure and hash(tree.structure(again)) == hash(structure)
    assert repr(structure) == (
        "Structure({'b': [*, (*,)], 'a': Point(x=*, y=None), 'c': Model(w=*, b=deque(*)), "
        "'d': Line(*, {7: *, 'x': *})})"
    )


def test_container_types_are_kept() -> None:
    given = defaultdict(list, {"b": 1, "a": 2})
    again = tree.map(lambda x: x + 1, given)
    assert type(again) is defaultdict and again["none"] == [] and list(again)[:2] == ["b", "a"]
    made = tree.structure(given).unflatten([5, 6])
    assert made == {"a": 5, "b": 6} and made["none"] == [] and "none" not in given
    assert repr(tree.structure(OrderedDict(b=1))) == "Structure(OrderedDict({'b': *}))"


def test_structures_distinguish_trees() -> None:
    forms: list[Any] = [[1], (1,), {"a": 1}, {"b": 1}, OrderedDict(a=1), None, 1, [None], Line(1, 2), Line(1, 2, "x")]
    for i, x in enumerate(forms):
        for j, y in enumerate(forms):
            assert (tree.structure(x) == tree.structure(y)) is (i == j), (x, y)


def test_structure_holds_no_leaves() -> None:
    class Big:
        pass

    import weakref

    big = Big()
    structures = [tree.structure(c) for c in ([big], {"a": big}, defaultdict(int, a=big), Model(big, 0), Point(big, 0))]
    gone = weakref.ref(big)
    del big
    assert gone() is None and all(s.num_leaves for s in structures)


@dataclasses.dataclass(frozen=True)
class Checked:
    """A dataclass that requires a vector and changes its argument."""

    at: Any
    scale: dataclasses.InitVar[float] = 2.0

    def __post_init__(self, scale: float) -> None:
        if self.at.ndim != 1:
            raise ValueError("at is one point")
        object.__setattr__(self, "at", self.at * scale)


class Ordered(NamedTuple("Pair", [("low", Any), ("high", Any)])):
    def __new__(cls, low: Any, high: Any) -> Ordered:
        if low.ndim or high.ndim:
            raise ValueError("two numbers")
        return super().__new__(cls, low, high)


@dataclasses.dataclass
class Derived:
    at: Any

    def __post_init__(self) -> None:
        if self.at.ndim != 1:
            raise ValueError("at is one point")
        self.twice = self.at * 2


def test_checked_dataclass_rebuilt_without_init() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    points = vmap(Checked)(x)
    assert isinstance(points, Checked) and read(points.at).tolist() == [[2, 4], [6, 8], [10, 12]]
    assert read(vmap(lambda p: p.at.sum())(points)).tolist() == [6, 14, 22]
    assert tree.structure(points).unflatten(["a"]).at == "a"
    pairs = vmap(lambda p: Ordered(p.min(), p.max()))(x)
    assert isinstance(pairs, Ordered) and read(pairs.high).tolist() == [2, 4, 6]


def test_checks_with_derived_fields_are_rejected() -> None:
    with pytest.raises(errors.TreeError) as caught:
        vmap(Derived)(Tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert str(caught.value) == (
        "tree: Derived cannot be made with other leaves: it raises ValueError\n"
        "  error:   'at is one point'\n"
        "  derived: attributes that are not fields: `twice`\n"
        "  try:     add a field for each of them, or register_pytree_node(Derived, flatten, unflatten)"
    )


def test_deque_keeps_maxlen() -> None:
    assert tree.map(lambda x: x + 1, deque([1, 2], maxlen=2)).maxlen == 2


def test_structures_can_be_pickled() -> None:
    given = [
        Point(1, 2),
        OrderedDict(b=1, a=2),
        defaultdict(list, x=3),
        deque([4]),
        {"k": (5, None)},
        Model(6, None),
        Line(7, 8),
    ]
    s = tree.structure(given)
    copy = pickle.loads(pickle.dumps(s))
    assert copy == s and hash(copy) == hash(s) and repr(copy) == repr(s)
    assert tree.leaves(copy.unflatten(range(10))) == list(range(10))


def test_different_kinds_of_keys_are_not_equal() -> None:
    keys = [tree.SequenceKey(1), tree.FlattenedIndexKey(1), tree.DictKey(1), tree.GetAttrKey("1")]
    assert len({*keys}) == 4 and all((a == b) == (a is b) for a in keys for b in keys)
    assert keys[0] == tree.SequenceKey(1) and keys[0] != (1,)
    assert pickle.loads(pickle.dumps(keys)) == keys


def test_map_of_several_trees() -> None:
    assert tree.map(lambda a, b: (a, b), {"x": 1, "y": [2]}, {"y": [(3, 4)], "x": {"z": 5}}) == {
        "x": (1, {"z": 5}),
        "y": [(2, (3, 4))],
    }
    assert tree.map(lambda x: x, None) is None
    assert tree.map(len, [(1, 2), [()]], is_leaf=lambda x: isinstance(x, tuple)) == [2, [0]]
    assert tree.map(lambda x: 0 if x is None else x, [None, 1], is_leaf=lambda x: x is None) == [0, 1]


def test_paths() -> None:
    found = {tree.keystr(path): x for path, x in tree.leaves_with_path(TREE)}
    assert found == {
        "['a'].x": 3,
        "['b'][0]": 1,
        "['b'][1][0]": 2,
        "['c'].w": 4,
        "['c'].b[0]": 5,
        "['d'][<flat index 0>]": 6,
        "['d'][<flat index 1>][7]": 7,
        "['d'][<flat index 1>]['x']": 8,
    }
    assert tree.map_with_path(lambda path, a, b: (path[-1].idx, a + b), [1, 2], [10, 20]) == [(0, 11), (1, 22)]


def test_reduce_all_transpose() -> None:
    assert tree.reduce(lambda a, b: f"{a}{b}", {"b": 1, "a": 2}, "") == "21" and tree.reduce(max, [], 7) == 7
    assert tree.all({"a": True, "b": [1, "x"]}) and not tree.all([True, None, 0])
    assert tree.transpose(tree.structure([0, 0]), None, [{"a": 1}, {"a": 2}]) == {"a": [1, 2]}  # as jax.tree.transpose
    assert tree.transpose(tree.structure([]), tree.structure((0, 0)), []) == ([], [])


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        ("int32", "float16", "float16"),
        ("uint8", "int8", "int16"),
        ("bool", "int32", "int32"),
        ("float16", "bfloat16", "float32"),
        ("bool", "float32", "float32"),
    ],
)
def test_dtypes_of_ravel_match_jax(a: str, b: str, wanted: str) -> None:
    given = [Tensor([1, 0]).cast(getattr(dtypes, a)), Tensor([[1]]).cast(getattr(dtypes, b))]
    vector, unravel = tree.ravel(given)
    assert vector.dtype == getattr(dtypes, wanted) and vector.tolist() == [1, 0, 1]
    again = unravel(vector)
    assert [x.dtype for x in again] == [x.dtype for x in given] and [x.shape for x in again] == [(2,), (1, 1)]


def test_ravel_under_transforms() -> None:
    xs = Tensor([[1.0, 2.0], [3.0, 4.0]])
    out = vmap(lambda x: tree.ravel({"w": x, "b": x.sum(), "c": Tensor([9.0])})[0])(xs)
    assert out.tolist() == [[3, 9, 1, 2], [7, 9, 3, 4]]
    vector, unravel = tree.ravel({"w": xs, "b": Tensor(1.0), "none": Tensor.zeros(0)})
    slope = grad(lambda v: (unravel(v)["w"] * 3).sum() * unravel(v)["b"])(vector)
    assert slope.tolist() == [30, 3, 3, 3, 3]
    assert unravel(vector.cast(dtypes.float64))["w"].dtype == dtypes.float64  # any dtype is accepted, as in JAX
    assert vmap(lambda s: unravel(vector * s)["w"].sum())(Tensor([1.0, 2.0])).tolist() == [10, 20]
    nothing, back = tree.ravel({"a": None})
    assert nothing.shape == (0,) and nothing.dtype == dtypes.float32 and back(nothing) == {"a": None}


# ---- mistakes ----

MISTAKES: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "map by an int": (errors.CallError, lambda: tree.map(3, [1]), "tree.map: the int 3 is not a function"),
    "reduce by an int": (
        errors.CallError,
        lambda: tree.reduce(3, [1]),
        "tree.reduce: the int 3 is not a function",
    ),
    "another container": (
        errors.TreeError,
        lambda: tree.map(max, {"a": (1, 2)}, {"a": [1, 2]}),
        "tree.map: tree 2 has another structure than the first one\n  first:  (the int 1, the int 2)\n"
        "  tree 2: list(the int 1, the int 2)\n  where:  tree['a']",
    ),
    "other keys": (errors.TreeError, lambda: tree.map(max, {"a": 1}, {"b": 1}), "tree 2 has another structure"),
    "None for a leaf": (errors.TreeError, lambda: tree.map(max, {"a": None}, {"a": 1}), "where:  tree['a']"),
    "another object": (
        errors.TreeError,
        lambda: tree.map(max, Line(1, 2), Line(1, 2, "x")),
        "tree 2 has another structure",
    ),
    "is_leaf 3": (errors.TreeError, lambda: tree.leaves([1], is_leaf=3), "is_leaf is the int 3, not a function"),
    "nothing to reduce": (errors.TreeError, lambda: tree.reduce(max, []), "tree.reduce: the tree has no leaves"),
    "too few leaves": (
        errors.TreeError,
        lambda: tree.unflatten(tree.structure([1, 2]), [1]),
        "tree.unflatten: 1 leaves for a tree of 2\n  tree: Structure([*, *])",
    ),
    "a list as structure": (errors.TreeError, lambda: tree.unflatten([1], [1]), "the structure is a list"),
    "different inner trees": (
        errors.TreeError,
        lambda: tree.transpose(tree.structure([0, 0]), None, [(1,), (1, 2)]),
        "an inner tree has another structure than inner",
    ),
    "no structure": (
        errors.TreeError,
        lambda: tree.transpose(tree.structure([]), None, []),
        "the inner structure is missing",
    ),
    "text as leaf": (errors.TreeError, lambda: tree.ravel({"a": "x"}), "the tree['a'] is the str 'x', not a tensor"),
    "a longer vector": (
        errors.TreeError,
        lambda: tree.ravel([1.0, 2.0])[1](Tensor([1.0, 2.0, 3.0])),
        "tree.ravel: this vector does not fit the tree\n  vector: f32[3]\n  wanted: f32[2]",
    ),
    "another dtype": (
        errors.TreeError,
        lambda: tree.ravel([1.0, Tensor([2])])[1](Tensor([1, 2])),
        "vector: i32[2]\n  wanted: f32[2]",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    kind, run, text = MISTAKES[name]
    with pytest.raises(kind) as e:
        run()
    assert text in str(e.value) and "  try:" in str(e.value)


def test_all_is_a_read() -> None:
    with pytest.raises(errors.ReadError):
        vmap(lambda x: Tensor(1) if tree.all([x > 0]) else Tensor(2))(Tensor([1.0, 2.0]))


# ---- the order of keys ----


@st.composite
def trees(draw: st.DrawFn, depth: int = 2) -> Any:
    """Generate a dict of numbers, and the same dict with all keys in another order."""
    keys = draw(st.lists(st.sampled_from(["a", "b", "c", 0, 1, ("x", 2), None]), min_size=2, max_size=4, unique=True))
    one, two = {}, {}
    for key in keys:
        inner = draw(trees(depth=depth - 1)) if depth and draw(st.booleans()) else None
        number = draw(st.integers(-8, 8)) / 4
        one[key], two[key] = inner if inner is not None else (number, number)
    return one, {key: two[key] for key in draw(st.permutations(keys))}


def tensors(x: Any) -> Any:
    return tree.map(lambda v: Tensor([v, v + 1]), x)


def numbers(x: Any) -> Any:
    return tree.map(lambda v: read(v).tolist() if isinstance(v, Tensor) else v, x)


def squares(x: Any) -> Tensor:
    weighted = [v.square() * (i + 1) for i, v in enumerate(tree.leaves(x))]
    return tree.reduce(lambda a, b: a + b, weighted).sum()


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "leaves": tree.leaves,
    "map": lambda x: tree.map(lambda v: v * 2, x),
    "paths": lambda x: {tree.keystr(path): v for path, v in tree.leaves_with_path(x)},
    "ravel": lambda x: tree.ravel(x)[0],
    "unravel": lambda x: (r := tree.ravel(x))[1](r[0] + Tensor.arange(r[0].shape[0])),
    "unflatten": lambda x: tree.unflatten(tree.structure(x), range(len(tree.leaves(x)))),
    "transpose": lambda x: tree.transpose(tree.structure(x), None, tree.map(lambda v: (v, 2 * v), x)),
    "vmap": lambda x: vmap(lambda y: tree.map(lambda v: v + squares(y), y))(x),
    "grad": grad(squares),
    "vjp": lambda x: vjp(lambda y: tree.map(lambda v: v * v, y), x)[1](x),
    "jvp": lambda x: jvp(squares, (x,), (x,)),
    "scan": lambda x: scan(lambda c, y: (tree.map(lambda a, b: a + b, c, y), c), tree.map(lambda v: v[0], x), x),
    "jit": jit(lambda x: tree.map(lambda v: v + squares(x), x)),
    "optim": lambda x: optim.apply_updates(x, (o := optim.lamb(0.1)).update(x, o.init(x), x)[0]),
    "global_norm": optim.global_norm,
    "associative_scan": lambda x: associative_scan(lambda a, b: tree.map(lambda v, w: v + w, a, b), x),
    "checkpoint": lambda x: grad(checkpoint(squares))(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_key_order_does_not_matter(name: str) -> None:
    """The values are the same, and the result has the order of keys of its argument."""

    def law(pair: Any) -> None:
        one, two = map(tensors, pair)
        first, second = (numbers(FUNCTIONS[name](x)) for x in (one, two))
        assert first == second
        if name in ("map", "vmap", "grad", "jit", "unravel"):
            assert [list(d) for d in (first, second)] == [list(one), list(two)]

    check(law, trees(), examples=4)


def test_keystr_rejects_non_paths() -> None:
    with pytest.raises(
        errors.CallError, match=r"^tree.keystr: the int 3 is not a path\n  try: pass a path from tree.leaves_with_path"
    ):
        tree.keystr(3)  # type: ignore[arg-type]
