"""A kernel, its trace, and a headless browser that has the page open from a file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from pypto_rw.explain import explain
from pypto_rw.trace import as_html, told

KERNEL = """import pypto.language as pl

@pl.program
class Traced:
    @pl.function(type=pl.FunctionType.InCore)
    def traced(self, x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP16]]):
        t = pl.load(x, [0, 0], [16, 64])
        s = pl.mul(pl.exp(t), 0.5)
        for i in pl.range(4):
            if i > 2:
                s = pl.add(s, t)
            else:
                s = pl.neg(s)
        h = pl.cast(
            s,
            pl.FP16,
        )
        pl.store(h, [0, 0], y)
"""
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; where there is none the test is skipped, but not where everything is to be there."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("there is no Chromium to open the page in")
        pytest.skip("there is no Chromium to open the page in")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens the page of a kernel; anything that the page would load, and any error in it, fails the test."""
    wrong: list[str] = []
    pages: list[Page] = []

    def open_(source: str, width: int = 1280, scheme: str = "light") -> Page:
        file = tmp_path / "trace.html"
        file.write_text(as_html(told(explain(source, filename="traced.pyir"))), encoding="utf-8")
        page = browser.new_page(
            viewport={"width": width, "height": 800}, color_scheme="dark" if scheme == "dark" else "light"
        )
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: wrong.append(request.url) if request.url != file.as_uri() else None)
        page.goto(file.as_uri())
        pages.append(page)
        return page

    yield open_
    for page in pages:
        page.close()
    assert wrong == []
