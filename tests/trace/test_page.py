"""The page of a trace in a browser: what a click and a key show, and that it stays in shape."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from pypto_rw.rulebook import Rulebook
from tests.trace.conftest import KERNEL, Open

STAGES = ["source", "type", "legalize", "plan", "pto"]
CAST = "h = pl.cast("


def lit(page: Page) -> dict[str, list[str]]:
    """Text of the lines that are highlighted, by stage."""
    found = {}
    for stage in STAGES:
        texts = page.locator(f"#{stage} p.on").evaluate_all("all => all.map(p => p.textContent.trim())")
        if texts:
            found[stage] = texts
    return found


def chosen(page: Page) -> str:
    """The chosen line, as `stage-number`; it is the only one, and it has the focus."""
    at = page.locator("p.at").evaluate_all("all => all.map(p => p.id)")
    assert len(at) == 1
    assert page.evaluate("document.activeElement.id") == at[0]
    return str(at[0])


def line(page: Page, stage: str, text: str) -> str:
    """The id of the first line of a stage that starts with a text."""
    ids = page.locator(f"#{stage} p").evaluate_all("all => all.map(p => [p.id, p.textContent.trim()])")
    return next(str(i) for i, t in ids if t.startswith(text))


def click(page: Page, at: str) -> None:
    """Click a line near its beginning."""
    page.locator(f"#{at}").click(position={"x": 60, "y": 8})


def headings(page: Page) -> list[str]:
    return [str(t) for t in page.locator("#panel h3").all_inner_texts()]


def test_every_stage_is_there_and_says_what_is_new(opened: Open) -> None:
    page = opened(KERNEL)
    assert page.title() == "traced.pyir for a2a3"
    assert page.locator(".stage h2").all_inner_texts() == [
        "source 18 lines",
        "after type 12 of 19 new",
        "after legalize 3 of 19 new",
        "after plan 12 of 21 new",
        ".pto 38 lines",
    ]
    new = page.locator("#plan p.n").evaluate_all("all => all.map(p => p.textContent.trim().split(/[ (:]/)[0])")
    assert new == ["def", "mem_vec_2", "mem_vec_3", "t", "t__tmp_v0", "s", "s_2", "s_4", "s_3", "s_4", "s_5", "h"]
    marked = page.locator("#legalize p.n mark").all_text_contents()
    assert marked == ["AIV, level=pl.Level.AIV, role=pl.Role.SubWorker", ", pl.Mem.Vec", ", target_memory=pl.Mem.Vec"]
    assert page.locator("#panel").inner_text() == "Choose a line: click it, or press ↓."


def test_a_click_shows_what_became_of_a_statement_of_several_lines(opened: Open) -> None:
    page = opened(KERNEL)
    click(page, "source-15")
    assert chosen(page) == "source-15"
    cast = "h: pl.Tile[[16, 64], pl.FP16, {}pl.Mem.Vec] = pl.tile.cast(s_5, target_type=pl.FP16)"
    tile = (
        "!pto.tile_buf<loc=vec, dtype={}, rows=16, cols=64, v_row=?, v_col=?, "
        "blayout=row_major, slayout=none_box, fractal=512, pad=0>"
    )
    modes = "{rmode = #pto<round_mode ROUND>, satmode = #pto<saturation_mode OFF>}"
    assert lit(page) == {
        "source": [CAST, "s,", "pl.FP16,", ")"],
        "type": [cast.format("")],
        "legalize": [cast.format("")],
        "plan": [cast.format("pl.MemRef(mem_vec_2, pl.const(0, pl.INT64), 4096), ")],
        "pto": [
            f"%h = pto.alloc_tile addr = %c0_i64 valid_row = %c16_index valid_col = %c64_index : {tile.format('f16')}",
            f"pto.tcvt ins(%s {modes} : {tile.format('f32')}) outs(%h : {tile.format('f16')})",
        ],
    }
    assert headings(page) == ["line 15, source", "tile.cast, asked by type and legalize", "pto.alloc_tile", "pto.tcvt"]


def test_a_click_on_a_printed_line_shows_where_it_came_from_and_which_rules_made_it(opened: Open) -> None:
    page = opened(KERNEL)
    at = line(page, "pto", "pto.tcvt")
    click(page, at)
    assert chosen(page) == at
    assert lit(page)["source"] == [CAST, "s,", "pl.FP16,", ")"]
    assert headings(page) == [f"line {at[4:]}, .pto", "comes from", "rules that made this line"]
    assert page.locator("#panel .origins").inner_text().split("\n")[-1] == "traced.pyir:14:9 h = pl.cast("
    rules = page.locator("#panel .made > .rules > details:not(.facts) summary").all_inner_texts()
    made = ("tile.cast/type", "casts/route", "core/deduced", "tile.cast/native")
    assert rules == [" ".join(reversed(Rulebook().rule_place(r).split(" "))).replace(" ", "") for r in made]


def test_a_rule_unfolds_to_its_text_and_a_link_leads_to_the_source(opened: Open) -> None:
    page = opened(KERNEL)
    click(page, line(page, "pto", "pto.tcvt"))
    rule = page.locator("#panel .made details:not(.facts)", has_text="tile.cast/type").first
    assert not rule.locator("pre").is_visible()
    rule.locator("summary").click()
    assert rule.locator("pre").inner_text().endswith(':name "tile.cast/type")')
    page.locator("#panel .origins a").click()
    assert chosen(page) == "source-14"


def test_the_keyboard_moves_through_lines_and_stages(opened: Open) -> None:
    page = opened(KERNEL)
    page.keyboard.press("j")
    assert chosen(page) == "source-1"
    for key in ("ArrowDown", "j", "End", "k", "Home", "PageDown", "ArrowUp"):
        page.keyboard.press(key)
    assert chosen(page) == "source-17"
    page.keyboard.press("ArrowUp")
    assert lit(page)["source"][0] == CAST
    walked = []
    for key in ("Tab", "Tab", "ArrowRight", "l", "Tab", "Shift+Tab", "ArrowLeft", "n", "p"):
        page.keyboard.press(key)
        at = page.locator("p.at")
        walked.append((key, str(at.get_attribute("id")).split("-")[0], str(at.text_content()).strip().split(" ")[0]))
    assert walked == [
        ("Tab", "type", "h:"),
        ("Tab", "legalize", "h:"),
        ("ArrowRight", "plan", "h:"),
        ("l", "plan", "h:"),
        ("Tab", "pto", "%h"),
        ("Shift+Tab", "plan", "h:"),
        ("ArrowLeft", "legalize", "h:"),
        ("n", "legalize", "h:"),
        ("p", "legalize", "t:"),
    ]


def test_enter_goes_to_the_rules_and_escape_comes_back(opened: Open) -> None:
    page = opened(KERNEL)
    at = line(page, "pto", "pto.texp")
    click(page, at)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.closest('#panel .rules') !== null")
    page.keyboard.press("Escape")
    assert chosen(page) == at


def test_the_focus_is_visible(opened: Open) -> None:
    page = opened(KERNEL)
    page.keyboard.press("j")
    shadow = "getComputedStyle(document.activeElement).boxShadow"
    assert "0px 2px" in page.evaluate(shadow)
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.locator("#types").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_unchanged_stages_are_folded_and_skipped(opened: Open) -> None:
    allocated = """import pypto.language as pl

@pl.program
class Plain:
    @pl.function(type=pl.FunctionType.AIV)
    def plain(self, x: pl.Tensor[[16, 64], pl.FP32], y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        buf: pl.Ptr = pl.tile.alloc(pl.Mem.Vec, 4096)
        t: pl.Tile[[16, 64], pl.FP32, pl.MemRef(buf, 0, 4096), pl.Mem.Vec] = pl.tile.load(x, [0, 0], [16, 64])
        pl.tile.store(t, [0, 0], y)
"""
    page = opened(allocated)
    folded = "all => all.map(s => s.id)"
    assert page.locator(".stage.folded").evaluate_all(folded) == ["type", "legalize", "plan"]
    click(page, "source-8")
    page.keyboard.press("Tab")
    assert chosen(page).startswith("pto-")
    page.locator("#plan h2 button").click()
    assert page.locator(".stage.folded").evaluate_all(folded) == ["type", "legalize"]
    assert page.locator("#plan p.on").count() == 1
    page.keyboard.press("u")
    assert page.locator(".stage.folded").count() == 0
    page.keyboard.press("u")
    assert page.locator(".stage.folded").evaluate_all(folded) == ["type", "legalize", "plan"]


def test_a_stage_is_folded_by_a_key(opened: Open) -> None:
    page = opened(KERNEL)
    click(page, "source-7")
    page.keyboard.press("Tab")
    page.keyboard.press("f")
    assert page.locator(".stage.folded").evaluate_all("all => all.map(s => s.id)") == ["type"]
    assert chosen(page).startswith("legalize-")


def test_corresponding_lines_stand_beside_one_another(opened: Open) -> None:
    body = "".join(f"        t{k} = pl.add(t{k - 1}, t{k - 2})\n" for k in range(2, 294))
    head = KERNEL.split("        t = ")[0].replace("pl.FP16", "pl.FP32")
    loads = "        t0 = pl.load(x, [0, 0], [16, 64])\n        t1 = pl.load(x, [16, 0], [16, 64])\n"
    page = opened(f"{head}{loads}{body}        pl.store(t293, [0, 0], y)\n")
    click(page, "source-7")
    for _ in range(10):
        page.keyboard.press("PageDown")
    assert chosen(page) == "source-207"
    tops = [page.locator(f"#{s} p.on").first.bounding_box() for s in STAGES]
    assert len({round(t["y"]) for t in tops if t is not None}) == 1
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_every_line_of_a_stage_is_as_high_as_the_others(opened: Open) -> None:
    page = opened(KERNEL)
    heights = page.locator(".lines p").evaluate_all(
        "all => [...new Set(all.map(p => p.getBoundingClientRect().height))]"
    )
    assert heights == [18]


def test_the_chosen_line_stays_in_view_when_lines_are_wrapped(opened: Open) -> None:
    page = opened(KERNEL)
    page.keyboard.press("j")
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    page.keyboard.press("w")
    shown, box = page.locator("p.at").bounding_box(), page.locator(".stage.active .lines").bounding_box()
    assert shown is not None and box is not None
    assert box["y"] <= shown["y"] and shown["y"] + shown["height"] <= box["y"] + box["height"]


@pytest.mark.parametrize("width", [1280, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_the_window(opened: Open, width: int, scheme: str) -> None:
    page = opened(KERNEL, width, scheme)
    click(page, "source-8")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    boxes = [page.locator(f"#{s}").bounding_box() for s in STAGES]
    assert all(b is not None and b["x"] >= 0 and b["x"] + b["width"] <= width + 1 for b in boxes)
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert back == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]
    page.keyboard.press("w")
    wide = "document.querySelector('#pto .lines').scrollWidth <= document.querySelector('#pto .lines').clientWidth"
    assert page.evaluate(wide)


def test_types_of_the_printed_text_are_shown_when_asked_for(opened: Open) -> None:
    page = opened(KERNEL)
    kind = page.locator("#pto var").first
    size = "v => getComputedStyle(v).fontSize"
    assert kind.evaluate(size) == "0px"
    page.locator("#types").click()
    assert (kind.evaluate(size), page.locator("#types").get_attribute("aria-pressed")) == ("12px", "true")


def test_a_refused_kernel_shows_its_errors(opened: Open) -> None:
    page = opened(KERNEL.replace("[0, 0], [16, 64])", "[56, 0], [16, 64])"))
    assert page.locator(".stage").count() == 1
    finding = page.locator("#panel .finding").first.inner_text().split("\n")
    assert finding[0].startswith("traced.pyir:7:13 error[past-end] tile.load: axis 0")
    assert finding[1].startswith("help: load less")
    assert page.locator("p.bad").first.get_attribute("id") == "source-7"
    page.locator("#panel a").first.click()
    assert chosen(page) == "source-7"


def test_a_line_can_be_linked(opened: Open) -> None:
    page = opened(KERNEL)
    click(page, "source-8")
    linked = page.url
    assert linked.endswith("#source-8")
    page.reload()
    assert chosen(page) == "source-8"


def test_the_help_lists_the_keys(opened: Open) -> None:
    page = opened(KERNEL)
    assert not page.locator("#keys").is_visible()
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    assert page.locator("#help").get_attribute("aria-expanded") == "true"
    assert page.locator("#keys dt").count() == page.locator("#keys dd").count() == 7
