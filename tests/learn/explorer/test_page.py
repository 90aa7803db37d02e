"""Check the explorer in a real browser: its views, its navigation, and that it requests nothing from other hosts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import DEFAULT_OPTIONS
from playwright.sync_api import Browser, expect
from tinygrad import Tensor

from branded.explain import explain, html
from branded.learn import explorer
from branded.learn.explorer import catalog
from tests.learn.explorer.reading import COLOURS, MISTAKES, VIEWS, Reader, access, data, step_of
from tests.support.profiles import amount


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return explorer.write(tmp_path_factory.mktemp("explorer"), edit=False)


@pytest.fixture
def read(reader: Callable[..., Reader], site: Path) -> Callable[..., Reader]:
    """Open the explorer at an example, one of its choices, and a step."""

    def read(name: str = "zip", choice: int = 0, step: int = 1, **options: Any) -> Reader:
        return reader(f"{site.as_uri()}#{name}/{choice}/{step}", **options)

    return read


# ---- the views ----


def test_menu_has_every_example(read: Callable[..., Reader]) -> None:
    here = read()
    assert here.page.locator("#example option").all_inner_texts() == [example.title for example in catalog.EXAMPLES]
    for example in catalog.EXAMPLES:
        here.page.select_option("#example", label=example.title)
        assert here.text("h1") == example.title
        assert example.name in MISTAKES or here.step().startswith("step 1 of ")


def test_code_lines_have_types(read: Callable[..., Reader]) -> None:
    shown = data("zip", 1)
    here = read("zip", 1)
    assert here.texts("#code .source") == shown["source"].rstrip("\n").split("\n")
    types = here.texts("#code [data-step]")
    for step, text in zip(shown["steps"], types, strict=True):
        assert step["results"][0]["type"] in text
        assert step["static"] is None or step["static"] in text
    assert any("Vec[x | y, Tensor]" in text for text in types)


def test_values_brands_and_result(read: Callable[..., Reader]) -> None:
    shown = data("zip", 1)
    number = step_of(shown, "broadcast")
    here = read("zip", 1, number)
    step = shown["steps"][number - 1]
    cells = here.page.locator("#memory .value >> nth=2").locator("[data-cell]").all_inner_texts()
    assert [float(cell) for cell in cells] == step["results"][0]["cells"]
    assert [[*map(float, row)] for row in json.loads(here.text("#result"))] == shown["result"]
    assert here.texts("table.rows thead .brand") == ["x", "y"]
    assert here.texts("table.rows tbody tr:first-child td.own") == ["x:3"]
    assert here.page.locator("table.rows td.hatched").count() == 2
    assert here.text("#step .kind") == "broadcast"
    assert here.text("#step .type").endswith(step["results"][0]["type"])
    assert step["why"].split("\n")[0] in here.text("#step .why")


def test_brand_has_one_look_everywhere(read: Callable[..., Reader]) -> None:
    here = read("deep", 0, step_of(data("deep"), "broadcast"))
    seen: dict[str, set[str]] = {}
    for text, classes in here.page.locator(".brand, .in-type").evaluate_all(
        "all => all.map((one) => [one.textContent, (one.querySelector('.swatch') ?? one).className])"
    ):
        seen.setdefault(text.split(":")[0], set()).add(re.search(r"\bb\d\b", classes)[0])  # type: ignore[index]
    assert all(len(classes) == 1 for classes in seen.values())
    assert len({next(iter(classes)) for classes in seen.values()}) == len(seen) == 3
    looks = here.page.locator("table.rows thead .swatch").evaluate_all(
        "all => all.map((one) => [getComputedStyle(one).backgroundImage, getComputedStyle(one).borderColor])"
    )
    images, colours = zip(*looks, strict=True)
    assert len(set(images)) == len(set(colours)) == len(looks) >= 2  # a pattern per brand, not only a color


def test_graph(read: Callable[..., Reader]) -> None:
    shown = data("zip", 1)
    here = read("zip", 1)
    nodes = shown["graph"]["nodes"]
    assert len(nodes) > 2
    assert sorted(here.page.locator("#graph .node text:first-of-type").all_text_contents()) == sorted(
        node["op"] for node in nodes
    )
    assert here.page.locator("#graph .edge").count() == len(shown["graph"]["edges"])
    boxes = [box for node in here.page.locator("#graph .node rect").all() if (box := node.bounding_box())]
    assert len({(round(box["x"]), round(box["y"])) for box in boxes}) == len(nodes)  # no two nodes overlap
    for step in shown["steps"]:
        here.page.locator(f"#code [data-step='{step['number']}']").click()
        own = sorted(node["op"] for node in nodes if node["step"] == step["number"])
        assert sorted(here.page.locator("#graph .node.now text:first-of-type").all_text_contents()) == own


def test_node_opens_its_step(read: Callable[..., Reader]) -> None:
    shown = data("zip", 1)
    here = read("zip", 1, 1)
    node = here.page.locator("#graph [role=button]").last
    name = node.get_attribute("aria-label") or ""
    node.focus()
    here.page.keyboard.press("Enter")
    assert here.step() == f"step {name.rsplit(' ', 1)[1]} of {len(shown['steps'])}"


def test_levels_are_linked(read: Callable[..., Reader]) -> None:
    shown = data("dot", 0)
    here = read("dot", 0)
    for step in shown["steps"]:
        here.page.locator(f"#code [data-step='{step['number']}']").click()
        columns = here.page.locator("#levels ol")
        for column, (level, lines) in enumerate(
            [("operations", [step["number"] - 1]), ("primitives", step["primitives"]), ("batched", step["batched"])]
        ):
            now = (
                columns.nth(column)
                .locator("li")
                .evaluate_all("all => all.flatMap((one, i) => one.className ? [i] : [])")
            )
            assert now == sorted(set(lines)), level


def test_kernels(read: Callable[..., Reader]) -> None:
    here = read("zip", 1)
    (kernel,) = data("zip", 1)["kernels"]
    here.page.locator("#kernels summary").click()
    assert here.text("#kernels pre").strip() == kernel["code"].strip()
    assert f"reads {kernel['reads']} bytes, writes {kernel['writes']} bytes" in here.text("#kernels summary")


def test_a_name_means_one_value_at_all_levels() -> None:
    """Arguments keep the user's names, and a result of a step has its name at each level."""
    for name, choice in VIEWS:
        shown = data(name, choice)
        programs, arguments = shown["programs"], {x["name"] for x in shown["arguments"]}
        steps = {each["name"]: sizes_of(each["type"]) for step in shown["steps"] for each in step["results"]}
        taken = {node["op"] for node in shown["graph"]["nodes"] if node["step"] is None}
        assert arguments & taken or not taken, name
        seen: dict[str, str] = {}
        for level in ("primitives", "batched"):
            bound = [b for line in programs[level] for b in BOUND.findall(line.partition(" = ")[0])]
            for value, type_ in bound:
                sizes = sizes_of(type_)
                assert value not in arguments and steps.get(value, sizes) == sizes, (name, level, value)
                assert seen.setdefault(value, sizes) == sizes, (name, level, value)


BOUND = re.compile(r"(\w+):((?:Vec\[[^=]*?\]\]|\w+\[[^\]]*\]))(?= |$)")


def sizes_of(type_: str) -> str:
    """The sizes of all examples and the dtype, which stay the same when a brand becomes an axis."""
    row, _, one = type_[4:-1].partition(", ") if type_.startswith("Vec[") else ("", "", type_)
    dtype, _, shape = one.rstrip("]").partition("[")
    sizes = [brand.split(":")[1] for brand in row.split(" | ") if brand] + ([shape] if shape else [])
    return f"{dtype}[{', '.join(sizes)}]"


@pytest.mark.parametrize("path", sorted(Path(catalog.__file__).parent.glob("examples/*.py")), ids=lambda p: p.stem)
def test_code_is_at_most_as_wide_as_its_column(path: Path) -> None:
    assert max(map(len, path.read_text(encoding="utf-8").splitlines())) <= 64


def test_no_line_of_code_is_broken(read: Callable[..., Reader]) -> None:
    """The longest one has 64 characters."""
    here = read("parameters")
    lines = here.page.locator("#code .source").evaluate_all("all => all.map((x) => x.getClientRects().length)")
    assert set(lines) == {1}


# ---- navigation ----


def test_stepping_forward_and_back(read: Callable[..., Reader]) -> None:
    shown = data("zip", 1)
    here = read("zip", 1)
    count = len(shown["steps"])
    for step in shown["steps"]:
        assert here.step() == f"step {step['number']} of {count}"
        marked = here.page.locator("#code .lines > li[aria-current=step] .source").all_inner_texts()
        assert marked == [shown["source"].split("\n")[step["line"] - 1]]
        assert step["kind"] in here.text("#live") and f"Step {step['number']} of {count}" in here.text("#live")
        here.page.focus("#forward")
        here.page.keyboard.press("Enter")
    assert here.step() == f"step {count} of {count}"  # `forward` stays at the last step
    expect(here.page.locator("#forward")).to_be_focused()
    here.page.click("#back")
    assert here.step() == f"step {count - 1} of {count}"


def test_keyboard(read: Callable[..., Reader]) -> None:
    here = read("zip", 1)
    count = len(data("zip", 1)["steps"])
    press = here.page.keyboard.press
    for key, number in [("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", count), ("Home", 1)]:
        press(key)
        assert here.step() == f"step {number} of {count}", key
    here.page.focus("#slider")
    press("ArrowRight")
    press("ArrowRight")
    assert here.step() == f"step 3 of {count}"
    here.page.set_viewport_size({"width": 360, "height": 900})
    here.page.locator("#step .scroll").focus()  # it is wider than its frame, so the arrow keys scroll it
    press("ArrowRight")
    assert here.step() == f"step 3 of {count}"
    here.page.check("#predict")
    press("ArrowLeft")
    assert here.step() == f"step 2 of {count}"
    here.page.uncheck("#predict")
    here.page.focus("#example")
    press("ArrowDown")  # the menu keeps its own keys
    assert here.text("h1") == catalog.EXAMPLES[1].title


def test_tab_reaches_every_control(read: Callable[..., Reader]) -> None:
    here = read("zip", 1, 3)
    seen: list[str] = []
    for _ in range(80):
        here.page.keyboard.press("Tab")
        name, width = here.page.evaluate(FOCUSED)
        if name == "BODY":
            break
        assert width >= 2, name
        seen.append(name)
    for wanted in ("example", "back", "slider", "forward", "predict", "choice", "gridcell", "node", "SUMMARY"):
        assert wanted in seen
    assert seen.count("gridcell") == 1  # in a grid the arrow keys move


FOCUSED = """(() => {
  const one = document.activeElement, outline = getComputedStyle(one), box = one.querySelector("rect");
  const name = one.id || one.name || one.getAttribute("role") || one.tagName;
  if (one.tagName === "g") return ["node", parseFloat(getComputedStyle(box).strokeWidth)];
  return [name, outline.outlineStyle === "none" ? 0 : parseFloat(outline.outlineWidth)];
})()"""
"""Returns the focused element and the width of its outline."""


def test_address_restores_the_view(read: Callable[..., Reader]) -> None:
    here = read("dot", 1, 3)
    assert here.text("h1") == "Matrix product by two vmaps" and here.step().startswith("step 3 of")
    here.page.keyboard.press("ArrowRight")
    assert here.page.url.endswith("#dot/1/4")
    assert read("nonsense", 7, 99).text("h1") == catalog.EXAMPLES[0].title


# ---- the same brand? ----


def test_switch_between_choices(read: Callable[..., Reader]) -> None:
    same, different = data("zip", 0), data("zip", 1)
    here = read("zip", 0, step_of(same, "zip"))
    loops = []
    for shown, choice, brands in [(same, 0, 1), (different, 1, 2), (same, 0, 1)]:
        here.page.locator("#switch input").nth(choice).check()
        loops.append(here.text("#loop pre"))
        assert loops[-1] == shown["loop"].rstrip("\n")
        assert json.loads(here.text("#result")) == shown["result"]
        assert here.page.locator("table.rows thead .brand").count() == brands
        assert here.text("#step .kind") == ("zip" if brands == 1 else "broadcast")
        if len(loops) > 1:
            expect(here.page.locator("#switch input").nth(choice)).to_be_focused()
    assert loops[0].count("for ") == 1 and loops[1].count("for ") == 2


# ---- memory ----


def test_hover_highlights_source_cells(read: Callable[..., Reader]) -> None:
    shown = data("zip", 1)
    number = step_of(shown, "broadcast")
    here = read("zip", 1, number)
    step = shown["steps"][number - 1]
    for cell, sources in enumerate(step["from"]):
        here.page.locator("[role=gridcell]").nth(cell).hover()
        for operand in range(2):
            assert here.lit(operand) == [at for which, at in sources if which == operand]
        assert here.lit(2) == [cell]
    assert here.text("#memory .says") == "c[2, 1] = 23 comes from x[2], y[1]"
    here.page.mouse.move(0, 0)
    assert here.lit(0) == here.lit(1) == here.lit(2) == []


def test_arrow_keys_highlight_source_cells(read: Callable[..., Reader]) -> None:
    shown = data("zip", 1)
    number = step_of(shown, "broadcast")
    here = read("zip", 1, number)
    here.page.locator("[role=gridcell]").first.focus()
    walked = []
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        here.page.keyboard.press(key)
        walked.append((here.lit(0), here.lit(1)))
    assert walked == [([1], [0]), ([1], [1]), ([2], [1]), ([2], [0]), ([1], [0])]
    assert here.step().startswith(f"step {number} ")  # the keys moved in the grid, not through the steps


def test_memory_warning_and_bytes(read: Callable[..., Reader]) -> None:
    warned = [(name, i, s) for name, i in VIEWS for s in data(name, i)["steps"] if s["warning"]]
    assert warned
    name, choice, step = warned[0]
    here = read(name, choice, step["number"])
    assert step["warning"] in here.text("#memory .warning")
    assert here.text("#memory .sum") == "operands 10 KiB, result 2 MiB, 256 times its largest operand"
    assert "too many to draw" in here.text("#memory .values")
    here = read("zip", 1, step_of(data("zip", 1), "broadcast"))
    assert here.text("#memory .sum") == "operands 20 bytes, result 24 bytes, 2 times its largest operand"
    assert here.page.locator("#memory .warning").count() == 0


def test_copies_of_a_repeated_operand_are_hatched(read: Callable[..., Reader]) -> None:
    here = read("zip", 1, step_of(data("zip", 1), "broadcast"))
    for operand, (own, copies) in enumerate([(3, 3), (2, 4)]):
        value = here.page.locator("#memory .value").nth(operand)
        assert (value.locator("[data-cell]").count(), value.locator("td.hatched").count()) == (own, copies)


def test_every_result_is_shown(read: Callable[..., Reader]) -> None:
    step = next(step for step in data("scan")["steps"] if step["op"] == "scan")
    here = read("scan", 0, step["number"])
    values = here.page.locator("#memory .value")
    assert len(step["results"]) == 2 and values.count() == len(step["operands"]) + 2
    for value, result in zip(values.all()[-2:], step["results"], strict=True):
        assert [float(x) for x in value.locator("[data-cell]").all_inner_texts()] == result["cells"]


# ---- predict ----


def test_predicting(read: Callable[..., Reader]) -> None:
    shown = data("zip", 1)
    number = step_of(shown, "broadcast")
    type_ = shown["steps"][number - 1]["results"][0]["type"]
    here = read("zip", 1, number)
    here.page.check("#predict")
    assert type_ not in here.text("main")
    assert "broadcast" not in here.text("#live").split("zip, ")[0]
    here.page.click("[data-guess=zip]")
    assert "you said zip, it is broadcast" in here.text(".quiz")
    assert here.text("#score") == "0 of 1 right"
    assert type_ in here.text("#step")
    here.page.uncheck("#predict")
    here.page.check("#predict")
    here.page.click("[data-guess=broadcast]")
    assert "Right" in here.text(".quiz") and here.text("#score") == "1 of 1 right"
    here.page.keyboard.press("ArrowLeft")
    assert here.page.locator(".quiz").count() == 0  # `enter` and `leave` steps are not asked about


# ---- accessibility ----


def test_every_view_fits_a_phone(read: Callable[..., Reader]) -> None:
    steps = [(name, choice, step["number"]) for name, choice in VIEWS for step in data(name, choice)["steps"]]
    here = read(*steps[-1], width=360)
    places = [(f"{name}/{choice}/{number}", f"step {number} of") for name, choice, number in steps]
    assert here.page.evaluate(WIDER, places) == []


WIDER = """async (places) => {
  const wider = [], count = document.querySelector("#count");
  for (const [place, says] of places) {
    const shown = new Promise((done) => addEventListener("hashchange", () => setTimeout(done), { once: true }));
    location.hash = place;
    await shown;
    const { scrollWidth } = document.documentElement;
    if (scrollWidth !== 360 || !count.textContent.includes(says)) wider.push([place, count.textContent, scrollWidth]);
  }
  return wider;
}"""
"""Returns the places whose page is too wide or was not shown."""


def test_dark_theme_changes_only_colors() -> None:
    """The layout therefore is the same in both themes."""
    style = (html.ASSETS / "style.css").read_text(encoding="utf-8")
    (dark,) = re.findall(r"@media \(prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}\s*\}", style, re.S)
    assert style.count("prefers-color-scheme") == 1 and style.count("color-scheme:") == 2
    for file in html.ASSETS.glob("*.js"):
        assert "prefers-color-scheme" not in file.read_text(encoding="utf-8")
    assert re.fullmatch(r"(?:\s*--[\w-]+: #[0-9a-f]{6};)+\s*", dark)


@pytest.fixture(scope="module")
def page_for_access(chromium: Browser, site: Path) -> Iterator[Reader]:
    """Keep one page for all views: loading it and axe-core takes longer than moving to the next view."""
    still = "reduce"  # otherwise colors of the light theme are still fading when the dark theme is checked
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion=still, bypass_csp=True)
    here = Reader(context.new_page())
    here.page.goto(site.as_uri())
    yield here
    context.close()
    assert here.wrong == [] and here.elsewhere(site.as_uri()) == []


@pytest.mark.parametrize(("name", "choice"), amount(VIEWS[::4], VIEWS))
def test_accessibility(page_for_access: Reader, name: str, choice: int) -> None:
    """axe-core finds no violation of contrast, names, roles or scrolling.

    The dark theme differs in colors only, so only rules about colors are checked in it.
    """
    shown = data(name, choice)
    step = next((s["number"] for s in shown["steps"] if s["kind"] == "broadcast"), len(shown["steps"]) // 2 + 1)
    here = page_for_access
    here.page.emulate_media(color_scheme="light")
    assert here.page.evaluate(WIDER.replace("360", "1280"), [(f"{name}/{choice}/{step}", f"step {step} of")]) == []
    if here.page.locator("[role=gridcell]").count():
        here.page.locator("[role=gridcell]").first.focus()  # with highlighted cells
    here.page.set_viewport_size({"width": 360, "height": 900})
    here.page.wait_for_timeout(50)  # the page hears of its new size
    narrow = access(here.page, {"runOnly": ["scrollable-region-focusable"]})
    assert narrow.violations_count == 0, narrow.generate_report()
    here.page.set_viewport_size({"width": 1280, "height": 900})
    for scheme, options in (("light", DEFAULT_OPTIONS), ("dark", COLOURS)):
        here.page.emulate_media(color_scheme=scheme)
        found = access(here.page, options)
        assert found.violations_count == 0, scheme + found.generate_report()
        assert "color-contrast" in {rule["id"] for rule in found.response["passes"]}


def test_dark_background(read: Callable[..., Reader]) -> None:
    colours = [
        read(color_scheme=scheme).page.evaluate("getComputedStyle(document.body).backgroundColor").strip("rgb()")
        for scheme in ("light", "dark")
    ]
    light, dark = (sum(int(part) for part in colour.split(",")) for colour in colours)
    assert light > 3 * 200 and dark < 3 * 60


def test_reduced_motion(read: Callable[..., Reader]) -> None:
    moving = [
        read(reduced_motion=wish).page.evaluate(
            "getComputedStyle(document.querySelector('#forward')).transitionDuration"
        )
        for wish in ("no-preference", "reduce")
    ]
    assert moving[0] != moving[1] == "0s"


# ---- one explanation ----


def test_one_explanation_is_one_file(reader: Callable[..., Reader], tmp_path: Path) -> None:
    file = tmp_path / "outer.html"
    file.write_text(html.page(data("zip", 1)), encoding="utf-8")
    assert file.stat().st_size < 1_500_000
    here = reader(file.as_uri())
    assert here.asked == [file.as_uri()]
    assert not here.page.locator("#choose").is_visible()
    assert here.page.locator("#graph .node").count() == len(data("zip", 1)["graph"]["nodes"])
    here.page.keyboard.press("End")
    assert here.step().startswith(f"step {len(data('zip', 1)['steps'])} of")


def test_explanation_in_a_notebook(reader: Callable[..., Reader], tmp_path: Path) -> None:
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><link rel=icon href=data:,>{html.frame(data('zip', 1))}", encoding="utf-8")
    inside = reader(file.as_uri()).page.frame_locator("iframe")
    inside.locator("#forward").click()
    expect(inside.locator("#count")).to_contain_text("step 2 of")


def test_program_text_is_escaped(reader: Callable[..., Reader], tmp_path: Path) -> None:
    evil = {**data("zip", 1), "name": "</script><script>throw 1</script>", "doc": "<img src=x onerror=alert(1)>"}
    file = tmp_path / "evil.html"
    file.write_text(html.page(evil), encoding="utf-8")
    here = reader(file.as_uri())
    assert here.text("h1") == evil["name"] and here.text("#doc") == evil["doc"]


def test_function_without_steps_or_source(reader: Callable[..., Reader], tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    space: dict[str, Any] = {}
    exec("f, g = lambda a: a, lambda a: a + 1", space)
    file.write_text(explain(space["f"], Tensor([1, 2])).html(), encoding="utf-8")
    here = reader(file.as_uri())
    assert here.step() == "no steps" and not here.page.locator("#view-step").is_visible()
    file.write_text(explain(space["g"], Tensor([1, 2])).html(), encoding="utf-8")
    here = reader(file.as_uri())
    assert here.texts("#code .source") == [] and here.page.locator("#code [data-step]").count() == 1
    assert json.loads(here.text("#result")) == [2, 3]
