"""Imports run one way; files stay readable; the package carries its data."""

from __future__ import annotations

import ast
import graphlib

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "pypto_rw"
LAYERS = [
    {"records", "resources", "cache", "collector"},
    {"diagnostics"},
    {"formats"},
    {"ir"},
    {"layout", "mlir", "scalars", "codes", "simplify", "allocation", "authored", "wording", "kept"},
    {"syntax", "verifier", "partial", "differences"},
    {"rewriting"},
    {"tied", "colive"},
    {"shaping"},
    {"inspection"},
    {"options"},
    {"distributed", "checks"},
    {"memory", "front"},
    {"pipeline"},
    {"lowering"},
    {"assembler"},
    {"wrapper"},
    {"api", "examples", "rulepages"},
    {"explain", "authoring", "reduction", "lit"},
    {"server", "trace"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
_LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def _room(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


@pytest.mark.parametrize("path", sorted(p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py")))
def test_imports_run_one_way(path: str) -> None:
    room = _room(path)
    if room == "__init__":
        return
    for node in ast.walk(ast.parse((PACKAGE / path).read_text())):
        modules: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pypto_rw"):
            modules = [f"pypto_rw.{a.name}" for a in node.names] if node.module == "pypto_rw" else [node.module]
        elif isinstance(node, ast.Import):
            modules = [a.name for a in node.names if a.name.startswith("pypto_rw")]
        for module in modules:
            other = module.split(".")[1]
            assert other == room or _LEVEL[other] < _LEVEL[room] or (other in LAYERS[_LEVEL[room]]), (
                f"{path} imports {module}, which is above it"
            )


def test_no_files_import_each_other_in_a_circle() -> None:
    """What is imported when a file is; what a function imports when it runs does not count."""
    files = {
        p.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", "."): p for p in PACKAGE.rglob("*.py")
    }
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        graph[name] = set()
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pypto_rw"):
                parts = {f"{node.module}.{a.name}" for a in node.names}
                graph[name] |= {n for n in (parts & files.keys()) or {node.module} if n != name}
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError


def test_one_file_names_egglog_and_only_the_syntax_knows_lark() -> None:
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        name = path.relative_to(PACKAGE).as_posix()
        assert name == "rewriting/library.py" or "import egglog" not in text, path
        assert _room(name) == "syntax" or "import lark" not in text, path
