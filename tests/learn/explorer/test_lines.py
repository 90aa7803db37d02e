"""Check the page line by line: the code with the functions that it calls, and the graph with a group per line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branded.explain import html
from branded.learn.explorer import browser as in_browser
from tests.learn.explorer.reading import COLOURS, Reader, access

PROGRAM = """\
from tinygrad import Tensor
from branded import grad, vmap

X, Y, Z = Tensor.ones(3, 4), Tensor.ones(2, 4), Tensor.zeros(2, 4)
W = Tensor.ones(4, 4)


def layer(x, w):
    return (x @ w).relu()


def net(x, w):
    for _ in range(2):
        x = layer(x, w)
    return x.sum()


def pairs(x: Tensor = X, y: Tensor = Y, z: Tensor = Z, w: Tensor = W):
    def loss(a, b, w):
        h = (a * b).softmax()
        return net(h, w) + (a @ w).log_softmax().sum()

    scores = vmap(
        lambda a: vmap(
            lambda b, c: grad(
                lambda w: loss(a, b - c, w)
            )(w)
        )(y, z)
    )(x)
    return scores.sum(2)
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("program"))
        for name in ("mypy", "mypy.build", "mypy.main"):
            patch.setitem(__import__("sys").modules, name, None)
        (found,) = json.loads(in_browser.run(PROGRAM, ["pairs"]))
    return dict(found)


@pytest.fixture
def read(reader: Callable[..., Reader], shown: dict[str, Any], tmp_path: Path) -> Callable[..., Reader]:
    (tmp_path / "index.html").write_text(html.page(shown))
    return lambda **options: reader((tmp_path / "index.html").as_uri(), **options)


def number(shown: dict[str, Any], *wanted: str) -> list[int]:
    """Return the numbers of the steps with this code or this operation."""
    return [step["number"] for step in shown["steps"] if step["code"] in wanted or step["op"] in wanted]


# ---- the code ----


def test_called_functions_have_source_and_caller(shown: dict[str, Any]) -> None:
    layer, net = shown["called"]
    assert layer["source"] == "def layer(x, w):\n    return (x @ w).relu()" and layer["first_line"] == 8
    assert net["name"] == "net" and layer["caller"] == [1, 3] and net["caller"] == [None, 4]
    (at,) = {tuple(step["within"]) for step in shown["steps"] if step["op"] == "relu"}
    assert at == (0, 2) and all(step["line"] is None for step in shown["steps"] if step["within"])


def test_steps_are_listed_at_their_lines(read: Callable[..., Reader], shown: dict[str, Any]) -> None:
    here = read()
    called = here.page.locator("#code > .lines > li > .called")
    assert called.locator("> .note").all_inner_texts() == ["net of program.py"]
    assert called.locator(".called > .note").all_inner_texts() == ["layer of program.py"]
    order = here.page.locator("#code > .lines [data-step]").evaluate_all("all => all.map((one) => one.dataset.step)")
    listed = [int(text) for text in order]
    a, b, c = (listed.index(n) for n in number(shown, "enter"))
    body = listed.index(number(shown, "b - c")[0])
    inner, outer = (listed.index(n) for n in number(shown, "leave"))
    assert a < b < c < body < inner < outer  # `leave` is listed after all steps of its body
    first = shown["first_line"]
    lines = dict(enumerate(here.page.locator("#code > .lines > li").all_inner_texts(), first))
    assert [i for i, text in lines.items() if "leaves" in text] == [28, 29]
    assert [i for i, text in lines.items() if "enter" in text] == [23, 24]


def test_equal_steps_share_an_entry(read: Callable[..., Reader], shown: dict[str, Any]) -> None:
    here = read()
    (products,) = [text for text in here.texts("#code .called .called .types > li") if text.startswith("x @ w")]
    assert "2 times: steps" in products
    together = here.page.locator("#code .types > li", has_text="enter b")
    first, second = number(shown, "enter")[1:]
    assert together.count() == 1 and f"steps {first}" in together.inner_text()
    together.locator(f"[data-step='{second}']").click()
    assert here.step().startswith(f"step {second} of")
    assert together.locator("[aria-current=step]").inner_text() == str(second)
    steps = here.page.locator("#code [data-step]").evaluate_all("all => all.map((one) => Number(one.dataset.step))")
    assert sorted(steps) == [step["number"] for step in shown["steps"]]  # every step can be opened


# ---- the graph ----


def test_large_graph_is_folded_by_lines(read: Callable[..., Reader], shown: dict[str, Any]) -> None:
    here = read()
    nodes = shown["graph"]["nodes"]
    drawn = here.page.locator("#graph .node")
    assert len(nodes) > 60 and drawn.count() < 20
    box = here.page.locator("#view-graph").bounding_box()
    assert box is not None and box["height"] < 720
    folded = here.page.locator("#graph .folded")
    names = folded.evaluate_all("all => all.map((one) => one.getAttribute('aria-label'))")
    assert any(name.startswith("20  h = (a * b).softmax(): ") for name in names)
    counts = [int(name.rsplit(": ", 1)[1].split()[0]) for name in names]
    assert sum(counts) + drawn.count() - folded.count() == len(nodes)  # no node is lost

    before = drawn.count()
    folded.first.focus()
    here.page.keyboard.press("Enter")
    assert drawn.count() == before - 1 + counts[0] and here.page.locator("#graph .head").count() == 1
    assert here.page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    here.page.keyboard.press("Enter")
    assert drawn.count() == before
    here.page.get_by_role("button", name="Every operation").click()
    assert drawn.count() == len(nodes) and folded.count() == 0
    here.page.get_by_role("button", name="One node for each line").click()
    assert drawn.count() == before


def test_groups_of_the_graph_have_no_cycle(read: Callable[..., Reader]) -> None:
    """In the folded graph all arrows point down."""
    here = read()
    edges = here.page.locator("#graph .edge").evaluate_all(
        "all => all.map((one) => [one.getPointAtLength(0).y, one.getPointAtLength(one.getTotalLength()).y])"
    )
    assert edges and all(top < bottom for top, bottom in edges)


def test_group_of_a_step_is_marked(read: Callable[..., Reader], shown: dict[str, Any]) -> None:
    here = read()
    (product,) = number(shown, "a @ w")
    here.page.locator(f"#code [data-step='{product}']").click()
    (marked,) = here.page.locator("#graph .now").all()
    assert (marked.get_attribute("aria-label") or "").startswith("21  return net(h, w)")


def test_zoom_fit_and_map(read: Callable[..., Reader]) -> None:
    here = read()
    page, frame, map_ = here.page, here.page.locator("#graph .scroll"), here.page.locator("#graph .map")
    page.get_by_role("button", name="Every operation").click()
    wide = "one => [one.scrollWidth, one.scrollHeight, one.clientWidth, one.clientHeight]"
    before = frame.evaluate(wide)
    assert before[1] > 2 * before[3] and map_.is_visible()
    page.get_by_role("button", name="Larger").click()
    larger = frame.evaluate(wide)
    assert larger[1] > 1.2 * before[1] and larger[3] == before[3]
    at = map_.bounding_box()
    assert at is not None
    map_.click(position={"x": at["width"] / 2, "y": at["height"] - 6})
    assert frame.evaluate("one => one.scrollTop + one.clientHeight") > larger[1] - 40
    page.get_by_role("button", name="The whole graph").click()
    width, height, seen_width, seen_height = frame.evaluate(wide)
    assert width <= seen_width and height <= seen_height and not map_.is_visible()


def test_accessibility_of_groups(read: Callable[..., Reader]) -> None:
    here = read(color_scheme="light", reduced_motion="reduce", bypass_csp=True)
    here.page.locator("#graph .folded").first.click()
    for scheme, options in (("dark", COLOURS), ("light", {"resultTypes": ["violations"]})):
        here.page.emulate_media(color_scheme=scheme)
        found = access(here.page, options)
        assert found.violations_count == 0, scheme + found.generate_report()


def test_page_fits_a_phone(read: Callable[..., Reader]) -> None:
    here = read(width=360)
    assert here.page.evaluate("document.documentElement.scrollWidth") == 360
