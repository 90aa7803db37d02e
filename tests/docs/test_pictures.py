"""Test that pictures show the values of their tensors and are readable, and that those in the docs are current."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tinygrad import Tensor

from branded import brand, scan, vmap
from branded.errors import AxesError, AxisRangeError, AxisTypeError, BrandedError, EscapeError, PictureError
from branded.learn import drawing, picture
from branded.learn.picture import Picture

DOCS = Path(__file__).parents[2] / "docs"
SVG = "{http://www.w3.org/2000/svg}"
NARROW = 328
"""The width in pixels of a picture on a screen that is 360 pixels wide."""
spec = importlib.util.spec_from_file_location("docs_pictures", DOCS / "pictures.py")
assert spec is not None and spec.loader is not None
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)


def parsed(p: Picture) -> ET.Element:
    return ET.fromstring(str(p))


def texts(p: Picture, kind: str | None = None) -> list[str]:
    """Return the texts of a picture in order; `kind="value"` selects the cells."""
    return [t.text or "" for t in parsed(p).iter(f"{SVG}text") if kind is None or t.get("class") == kind]


def numbers(p: Picture) -> list[float]:
    return [float(t) for t in texts(p, "value")]


def hatched(p: Picture) -> int:
    return sum(str(r.get("fill")).startswith("url(#repeated") for r in parsed(p).iter(f"{SVG}rect"))


# ---- the pictures of the docs ----


@pytest.mark.parametrize("name", made.PICTURES)
def test_docs_picture_is_up_to_date(name: str) -> None:
    assert (DOCS / "pictures" / f"{name}.svg").read_text(encoding="utf-8") == str(made.PICTURES[name]())


@pytest.mark.parametrize("name", made.PICTURES)
def test_docs_picture_is_accessible(name: str) -> None:
    root = ET.parse(DOCS / "pictures" / f"{name}.svg").getroot()
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and title.text and description is not None and description.text
    assert root.get("role") == "img" and next(iter(root)) is title
    background = root.find(f"{SVG}rect")
    assert background is not None and background.get("fill") == "#fcfcfa"  # for a dark page
    scale = min(1.0, NARROW / float(root.get("width", "nan")))
    sizes = [float(t.get("font-size", root.get("font-size", "nan"))) for t in root.iter(f"{SVG}text")]
    assert min(sizes) * scale >= 8, f"letters of {min(sizes) * scale:.1f} pixels on a narrow screen"


def luminance(colour: str) -> float:
    """Return the relative luminance that WCAG 2 defines."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def mixed(front: str, back: str, share: float) -> str:
    pairs = ((int(front[i : i + 2], 16), int(back[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(f * share + b * (1 - share)):02x}" for f, b in pairs)


@pytest.mark.parametrize("line, area", drawing._COLOURS)
def test_letter_contrast(line: str, area: str) -> None:
    stripes = mixed(line, drawing.PAPER, 0.3)
    pairs = [(line, drawing.PAPER), (line, area), (drawing.INK, area), (drawing.QUIET, stripes)]
    for front, back in pairs:
        light, dark = sorted((luminance(front), luminance(back)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{front} on {back}"


def test_every_docs_picture_is_used() -> None:
    files = {p.stem for p in (DOCS / "pictures").glob("*.svg")}
    assert files == set(made.PICTURES)
    pages = "\n".join(p.read_text() for p in DOCS.rglob("*.md"))
    shown = re.findall(r"!\[([^\]]*)\]\([./]*pictures/([\w-]+)\.svg\)", pages)
    assert {name for _, name in shown} == files
    assert all(words for words, _ in shown)


def test_main_writes_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "FOLDER", tmp_path / "pictures")
    monkeypatch.setattr(made, "PICTURES", {"zip-cells": made.zip_cells})
    made.main()
    assert (tmp_path / "pictures" / "zip-cells.svg").read_text() == str(made.zip_cells())


# ---- cells show the elements of values ----


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 2), (2, 1, 2, 2), (0,), (2, 0)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_cells_show_tensor_elements(shape: tuple[int, ...], dtype: Any) -> None:
    x = np.asarray(np.arange(np.prod(shape)).reshape(shape) - 2, dtype)
    assert numbers(picture.cells(Tensor(x))) == x.ravel().tolist()
    for axis in range(len(shape)):
        assert numbers(picture.cells(Tensor(x), axis=axis, brand="x")) == x.ravel().tolist()


def test_cells_of_batched_value() -> None:
    a0, b0 = np.array([[1, 2], [3, 4], [5, 6]]), np.array([10, 20])
    with brand("a", 3) as a, brand("b", 2) as b:
        x, y = a.vec(Tensor(a0)), b.vec(Tensor(b0))
        drawn = picture.cells(x * y)
        assert numbers(drawn) == (a0[:, None, :] * b0[None, :, None]).ravel().tolist()
        assert {"a 0", "a 1", "a 2", "b 0", "b 1"} <= set(texts(drawn))
        # drawing a value does not change it
        table = a.unvec(b.unvec((x * y).sum()))
    assert table.tolist() == (a0.sum(1)[:, None] * b0).tolist()


def test_cells_inside_nested_vmap() -> None:
    seen: list[Picture] = []

    def outer(x: Tensor) -> Tensor:
        inner = vmap(lambda y: x * y)(Tensor([1, 2, 3]))
        seen.append(picture.cells(inner))
        return inner

    table = vmap(outer)(Tensor([10, 20]))
    assert numbers(seen[0]) == np.ravel(table.tolist()).tolist() == [10, 20, 30, 20, 40, 60]


def test_booleans_are_yes_and_no() -> None:
    assert texts(picture.cells(Tensor([1, 5]) > 3), "value") == ["no", "yes"]


def test_coloured_axis_is_numbered() -> None:
    x = Tensor([[1, 2, 3], [4, 5, 6]])
    assert [t for t in texts(picture.cells(x, axis=0, brand="u")) if t[:2] == "u "] == ["u 0", "u 1"]
    assert [t for t in texts(picture.cells(x, axis=-1, brand="u")) if t[:2] == "u "] == ["u 0", "u 1", "u 2"]


@pytest.mark.parametrize("rank", [0, 1])
def test_broadcast_cells_are_hatched(rank: int) -> None:
    a0, b0 = np.arange(3 * 2**rank).reshape((3, *[2] * rank)), np.array([10, 20])
    with brand("a", 3) as a, brand("b", 2) as b:
        x, y = a.vec(Tensor(a0)), b.vec(Tensor(b0))
        drawn = picture.operation({"x": x, "y": y}, "+", x + y)
    wide_a, wide_b = a0[:, None], b0.reshape(1, 2, *[1] * rank)
    total = wide_a + wide_b
    expected = [np.broadcast_to(wide_a, total.shape), np.broadcast_to(wide_b, total.shape), total]
    assert numbers(drawn) == np.concatenate([e.ravel() for e in expected]).tolist()
    assert hatched(drawn) == (total.size - a0.size) + (total.size - b0.size)


def test_zip_has_no_hatched_cells() -> None:
    with brand("a", 3) as a:
        x, y = a.vec(Tensor([1, 2, 3])), a.vec(Tensor([4, 6, 8]))
        assert hatched(picture.operation({"x": x, "y": y}, "+", x + y)) == 0


def test_plain_tensors_broadcast_as_in_numpy() -> None:
    x, y = np.array([[1], [2]]), np.array([10, 20, 30])
    drawn = picture.operation({"x": Tensor(x), "y": Tensor(y)}, "*", Tensor(x) * Tensor(y))
    assert numbers(drawn) == [1, 1, 1, 2, 2, 2, 10, 20, 30, 10, 20, 30, *(x * y).ravel().tolist()]


def test_rows_have_a_column_for_each_brand() -> None:
    with brand("a", 3) as a, brand("b", 2) as b:
        x, y = a.vec(Tensor.ones(3, 4)), b.vec(Tensor.ones(2, 4))
        drawn = picture.rows({"x": x, "y": x * y, "w": Tensor.ones(4)}, {"out": x * y})
        left = picture.rows({"x": x}, {"mean": a.unvec(x)})
        entered = picture.rows({"X": Tensor.ones(3, 4)}, {"x": x})
    assert texts(drawn).count("a:3") == 3 and texts(drawn).count("b:2") == 2 and hatched(drawn) == 3
    assert drawn.description.endswith("a: broadcast; b: broadcast.")
    assert left.description.endswith("a: leaves.") and entered.description.endswith("a: enters.")


@pytest.mark.parametrize("in_axes", [0, 1, -1])
@pytest.mark.parametrize("out_axes", [0, 1, -1])
def test_journey_shows_steps_of_vmap(in_axes: int, out_axes: int) -> None:
    x = np.arange(6).reshape(2, 3)
    drawn = picture.journey(lambda v: v * 10, Tensor(x), in_axes=in_axes, out_axes=out_axes)
    examples = np.moveaxis(x, in_axes, 0)
    result = vmap(lambda v: v * 10, in_axes, out_axes)(Tensor(x)).numpy()
    expected = [x, examples, examples * 10, result]
    assert numbers(drawn) == np.concatenate([e.ravel() for e in expected]).tolist()


def test_journey_of_trees_and_shared_argument() -> None:
    drawn = picture.journey(
        lambda p, w: (p["a"] * w, p["b"]),
        {"a": Tensor([1, 2]), "b": Tensor([3, 4])},
        Tensor([5]),
        in_axes=(0, None),
        out_axes=(0, 0),
        brand="e",
    )
    assert drawn.description.startswith("p['a']: i32[2] = 1, 2; axis 0 is e. p['b']: i32[2] = 3, 4; axis 0 is e. w: ")
    assert drawn.description.endswith(
        "result[0]: i32[2, 1] = 5, 10; axis 0 is e. result[1]: i32[2] = 3, 4; axis 0 is e."
    )


def test_tree_shows_leaf_names_and_axes() -> None:
    params = {"w": [Tensor.ones(5, 4), Tensor.ones(2, 5)], "b": Tensor([0.5])}
    drawn = picture.tree(params, {"w": [0, 1], "b": None}, name="params", brand="x")
    found = texts(drawn)
    assert {"params['w'][0]", "params['w'][1]", "params['b']", "axis 0", "axis 1", "None: shared"} <= set(found)
    assert found.count("x:5") == 2 and hatched(drawn) == 1


def test_each_brand_has_one_colour() -> None:
    with brand("a", 2) as a, brand("b", 2) as b:
        x, y = a.vec(Tensor([1, 2])), b.vec(Tensor([3, 4]))
        both = picture.beside(picture.cells(x), picture.cells(y), picture.cells(y))
    colours = {t.text: t.get("fill") for t in parsed(both).iter(f"{SVG}text") if t.text in ("a 0", "b 0")}
    assert colours["a 0"] != colours["b 0"]
    fills = {(t.text, t.get("fill")) for t in parsed(both).iter(f"{SVG}text") if t.text in ("a 0", "b 0")}
    assert len(fills) == 2


def test_names_are_escaped() -> None:
    drawn = picture.cells(Tensor([1]), "a < b & 'c'")
    assert drawn.title in texts(drawn) and drawn.title.startswith("a < b & 'c'")


def test_svg_for_notebooks_and_files(tmp_path: Path) -> None:
    drawn = picture.cells(Tensor([1, 2]))
    drawn.save(tmp_path / "x.svg")
    assert drawn._repr_svg_() == drawn.svg == str(drawn) == (tmp_path / "x.svg").read_text()
    assert "svg" not in repr(drawn)


# ---- mistakes ----


def closed() -> Tensor:
    with brand("a", 2) as a:
        return a.vec(Tensor([1, 2]))  # type: ignore[return-value]


def in_a_loop() -> Any:
    return scan(lambda c, x: (c + x, picture.cells(c)), Tensor(0.0), Tensor([1.0]))


MISTAKES: dict[str, tuple[Callable[[], Any], type[BrandedError], str]] = {
    "too large": (
        lambda: picture.cells(Tensor.ones(20, 20)),
        PictureError,
        "picture: 400 cells are too many for a picture\n  value: f32[20, 20]\n  try:   use a smaller example: at most 256 cells",  # noqa: E501
    ),
    "closed": (
        lambda: picture.cells(closed()),
        EscapeError,
        "picture: this value belongs to `a`, which is closed\n"
        "  value: Vec[a:2, i32[]]\n"
        "  a:     opened by brand at app.py:12\n"
        "  try:   b.unvec(value) at the end of `with brand(...) as b:`, and use the result",
    ),
    "not a tensor": (
        lambda: picture.rows({"x": "three"}, {"y": Tensor(1)}),
        AxisTypeError,
        "picture: the str 'three' has no cells\n  try: pass a tensor or a number",
    ),
    "axis out of range": (
        lambda: picture.cells(Tensor([1, 2]), axis=1),
        AxisRangeError,
        "picture: axis 1 is out of range for i32[2]\n  try: use an axis from -1 to 0",
    ),
    "an unrelated operand": (
        lambda: picture.operation({"x": Tensor.ones(2, 3)}, "+", Tensor([1])),
        PictureError,
        "picture: an operand has a brand or an axis that the result lacks\n"
        "  operand: f32[2, 3]\n"
        "  result:  i32[1]\n"
        "  try:     use rows(), which draws each brand",
    ),
    "sizes": (
        lambda: picture.operation({"x": Tensor.ones(2)}, "+", Tensor([1, 2, 3])),
        PictureError,
        "picture: an operand does not broadcast to the result\n"
        "  operand: f32[2]\n"
        "  result:  i32[3]\n"
        "  try:     pass the operands and the result of one operation",
    ),
    "axes of a tree": (
        lambda: picture.tree({"w": Tensor.ones(2)}, {"v": 0}),
        AxesError,
        "in_axes: the axes do not fit tree\n"
        "  axes:  {'v': 0}  (keys 'v')\n"
        "  value: dict with keys 'w'\n"
        "  try:   give one axis per entry, or a single int or None",
    ),
    "in a loop": (
        in_a_loop,
        PictureError,
        "picture: the body of a loop is traced, so there is no value to draw\n"
        "  value: f32[]\n"
        "  try:   return the value, and draw it outside",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_message(mistake: str) -> None:
    make, cls, text = MISTAKES[mistake]
    with pytest.raises(cls) as info:
        make()
    assert re.sub(r"at \w+\.py:\d+", "at app.py:12", str(info.value)) == text


def test_flow_needs_one_word_per_arrow() -> None:
    with pytest.raises(ValueError, match="shorter"):
        picture.flow(picture.cells(Tensor(1)), picture.cells(Tensor(2)), arrows=["one", "two"])


def test_picture_module_has_public_names() -> None:
    import branded.picture

    names = ("Picture", "beside", "cells", "flow", "journey", "operation", "rows", "tree")
    assert all(getattr(branded.picture, name) is getattr(picture, name) for name in names)
