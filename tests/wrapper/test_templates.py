"""Template files: each is used, each that is asked for exists; what filling one does."""

from __future__ import annotations

import re

import pytest

from pypto_rw.wrapper.templates import fill, fill_line, text
from tests.conftest import ROOT

PACKAGE = ROOT / "pypto_rw" / "wrapper"
FORMS = {
    p.relative_to(PACKAGE / "templates").as_posix().removesuffix(".in") for p in (PACKAGE / "templates").rglob("*.in")
}
SOURCES = "\n".join(p.read_text() for p in sorted(PACKAGE.rglob("*.py")))


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_template_is_used(form: str) -> None:
    stem = form.split("/")[1].rsplit(".", 1)[0].removesuffix("_outputs")
    assert re.search(rf'["/]{stem}(\.\w+|\{{how\}}\.cpp)?"', SOURCES), form


def test_what_is_asked_for_exists() -> None:
    asked = set(re.findall(r'"((?:kernel|orchestration|manifest)/\w+\.\w+)"', SOURCES))
    assert asked <= FORMS


def test_a_block_takes_lines_at_its_indentation() -> None:
    body = ["a();", "", "#if 1", "    b();", "#endif"]
    assert fill("orchestration/scope.cpp", body=body) == [
        "PTO2_SCOPE() {",
        "    a();",
        "",
        "#if 1",
        "        b();",
        "#endif",
        "}",
    ]
    assert fill("orchestration/scope.cpp", body=[]) == ["PTO2_SCOPE() {", "}"]


def test_a_value_is_never_read_as_a_template() -> None:
    assert fill_line("orchestration/assign.cpp", name="@value@", value="@name@") == "@value@ = @name@;"


def test_a_value_that_is_missing() -> None:
    with pytest.raises(KeyError):
        fill("orchestration/assign.cpp", name="x")


def test_blank_lines_of_a_file() -> None:
    assert text(["", "a", "", "", "  ", "b", ""]) == "a\n\nb\n"
