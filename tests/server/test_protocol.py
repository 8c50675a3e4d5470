"""`pypto-rw lsp` over its real protocol: what an editor is told while a kernel is written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient
from pytest_lsp.client import make_test_lsp_client
from syrupy.assertion import SnapshotAssertion

from pypto_rw.rewriting.rulebook import Rulebook
from tests.conftest import ROOT, Run
from tests.rulelines import without_rule_lines
from tests.server.conftest import SERVER, Editor

KERNEL = """import pypto.language as pl

@pl.program
class Mixed:
    @pl.function(type=pl.FunctionType.InCore)
    def first(self, x: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        t = pl.load(x, [0, 0], [16, 64], valid_shape=[n, 64])
        s = pl.mul(pl.exp(t), 0.5)
        for i in pl.range(4):
            s = pl.add(s, t)
        pl.store(s, [0, 0], y)

    @pl.function(type=pl.FunctionType.InCore)
    def second(self, x: pl.Tensor[[64, 64], pl.FP16], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        a = pl.load(x, [0, 0], [64, 64], target_memory=pl.Mem.Mat)
        b = pl.move(a, target_memory=pl.Mem.Left)
        c = pl.move(a, target_memory=pl.Mem.Right)
        d = pl.matmul(b, c)
        pl.store(d, [0, 0], y)
"""
LINES = KERNEL.split("\n")


def _at(line: int, word: str) -> tuple[int, int]:
    """The 0-based place of a word's first character."""
    return line, LINES[line].index(word)


@pytest.fixture
def editor(client: LanguageClient, tmp_path: Path) -> Editor:
    return Editor(client, tmp_path / "kernel.pyir")


@pytest.mark.asyncio
async def test_a_good_kernel_has_no_diagnostics_and_its_functions_are_symbols(editor: Editor) -> None:
    assert await editor.open(KERNEL) == []
    shown = [(s.name, str(s.range), str(s.selection_range)) for s in await editor.symbols()]
    assert shown == [("first", "5:4-10:30", "5:8-5:13"), ("second", "13:4-18:30", "13:8-13:14")]


@pytest.mark.asyncio
async def test_a_diagnostic_has_its_help_and_its_rule(editor: Editor) -> None:
    await editor.open(KERNEL)
    (found,) = await editor.write(KERNEL.replace("[0, 0], [64, 64], target", "[32, 0], [64, 64], target"))
    rules = (ROOT / "rules").as_uri()
    assert (found.code, found.source, found.severity) == ("past-end", "pypto-rw", types.DiagnosticSeverity.Error)
    assert str(found.range) == "14:12-14:67"
    assert [
        (r.message, r.location.uri.removeprefix(rules).removeprefix(editor.uri))
        for r in found.related_information or ()
    ] == [
        ("help: load less, or pass clamp=True to load what is there", ""),
        (f"rule: {Rulebook().rule_place('windows/past-end')}", "/core/windows.egg"),
    ]
    assert found.code_description is not None
    assert found.code_description.href.startswith(f"{rules}/core/windows.egg#L")


@pytest.mark.asyncio
async def test_what_the_assembler_would_refuse_links_to_its_page(editor: Editor) -> None:
    await editor.open(KERNEL)
    page = (ROOT / "rules/codes/ptoas-row-bytes.md").read_text()
    reported = page.split("## Reported")[1].split("## Accepted")[0]
    text = "\n".join(
        line.removeprefix("    ") for line in reported.split("\n")[1:] if line.startswith("    ") or not line
    )
    (found, *_) = await editor.write(text.strip("\n") + "\n")
    assert found.code_description is not None
    assert found.code_description.href == (ROOT / f"rules/codes/{found.code}.md").as_uri()


@pytest.mark.asyncio
async def test_a_text_is_reported_once_after_many_keystrokes(editor: Editor) -> None:
    await editor.open(KERNEL)
    end = types.Position(10, len(LINES[10]))
    typed = "\n        pl.store(q, [0, 0], y)"
    keys = [
        types.TextDocumentContentChangePartial(types.Range(at, at), c)
        for k, c in enumerate(typed)
        for at in [end if k == 0 else types.Position(11, k - 1)]
    ]
    (found,) = await editor.replace(*keys)
    assert (found.message, str(found.range)) == ("cannot materialize symbol q: it has no definition", "11:17-11:18")


@pytest.mark.asyncio
async def test_places_count_as_the_client_counts(editor: Editor) -> None:
    text = KERNEL.replace("        s = pl.mul(pl.exp(t), 0.5)", '        pl.comment("𝒳𝒳"); s = pl.mul(t, 0.5)')
    (found, *_) = await editor.open(text)
    line = text.split("\n")[found.range.start.line]
    units = line.encode("utf-16-le")
    shown = units[2 * found.range.start.character : 2 * found.range.end.character].decode("utf-16-le")
    assert shown == ";"


@pytest.mark.asyncio
async def test_hover(editor: Editor, snapshot: SnapshotAssertion) -> None:
    await editor.open(KERNEL)
    places = [
        _at(5, "x:"),
        _at(5, "y:"),
        _at(6, "t = "),
        _at(6, "pl.load"),
        (6, LINES[6].index("n, 64")),
        _at(7, "pl.exp"),
        _at(8, "i in"),
        _at(9, "s, t"),
        _at(14, "a ="),
        (15, LINES[15].index("(a") + 1),
        _at(17, "d ="),
        _at(17, "pl.matmul"),
        _at(6, "valid_shape"),
    ]
    shown = [f"{line}:{at} {LINES[line][at:].split()[0]}\n{await editor.hover(line, at)}" for line, at in places]
    assert without_rule_lines("\n\n========\n\n".join(shown)) == snapshot


@pytest.mark.asyncio
async def test_hover_after_a_mistake_shows_what_was_known(editor: Editor) -> None:
    await editor.open(KERNEL)
    before = await editor.hover(*_at(6, "t = "))
    await editor.write(KERNEL.replace("pl.store(s, [0, 0], y)", "pl.store(s, [0, 0], y"))
    assert await editor.hover(*_at(6, "t = ")) == f"{before}\n\nAs of the last text without errors."


@pytest.mark.asyncio
async def test_definitions(editor: Editor) -> None:
    await editor.open(KERNEL)
    places = {
        "a value": _at(7, "t)"),
        "a value itself": _at(6, "t = "),
        "a value of a loop": (9, LINES[9].index("(s") + 1),
        "a parameter": (6, LINES[6].index("n, 64")),
        "of the other function": (14, LINES[14].index("(x") + 1),
        "an op": _at(17, "pl.matmul"),
        "an op by its operands": _at(7, "pl.mul"),
        "a word of the language": _at(8, "pl.range"),
        "a name in a text": _at(0, "import"),
    }
    assert {what: await editor.definition(*place) for what, place in places.items()} == {
        "a value": [":6:8"],
        "a value itself": [":6:8"],
        "a value of a loop": [":7:8"],
        "a parameter": [f":5:{LINES[5].index('n: ')}"],
        "of the other function": [f":13:{LINES[13].index('x: ')}"],
        "an op": [f"/rules/tile/matmul.egg:{_signature('tile/matmul')}:0"],
        "an op by its operands": [f"/rules/tile/muls.egg:{_signature('tile/muls')}:0"],
        "a word of the language": [],
        "a name in a text": [],
    }


def _signature(name: str) -> int:
    lines = (ROOT / f"rules/{name}.egg").read_text().split("\n")
    return next(k for k, line in enumerate(lines) if line.startswith(("(operands", "(signature")))


async def _offered(editor: Editor, written: str) -> dict[str, str | None]:
    text = "\n".join([*LINES[:8], f"        {written}", *LINES[8:]])
    await editor.write(text)
    items = await editor.completion(8, 8 + len(written))
    return {i.label: i.detail for i in items}


@pytest.mark.asyncio
async def test_completion(editor: Editor, snapshot: SnapshotAssertion) -> None:
    await editor.open(KERNEL)
    written = (
        "q = pl.Mem.",
        "q = pl.load(x, [0, 0], [16, 64], ",
        "q = pl.load(x, [0, 0], [16, 64], clamp=True, ",
        "q = pl.tile.create([16, 16], dtype=",
        "q = pl.tile.create([16, 16], pl.FP32, target_memory=",
        "q = pl.load(x, [0, 0], [16, 64], clamp=",
        "q = pl.add(",
        "",
        "q = pl.load(x, [0, 0], # pl.",
        "@",
    )
    assert {w: await _offered(editor, w) for w in written} == snapshot


@pytest.mark.asyncio
async def test_completion_behind_the_prefix_has_ops_types_and_groups(editor: Editor) -> None:
    await editor.open(KERNEL)
    found = await _offered(editor, "q = pl.")
    wanted = ("add", "and_", "load", "tile", "FP32", "Tensor", "Mem", "range", "PadValue", "InOut", "MemRef")
    assert {w: found[w] for w in wanted} == {
        "add": "elementwise sum of two tiles",
        "and_": "elementwise bitwise and",
        "load": "copies a window of a tensor into a tile",
        "tile": "ops of tile",
        "FP32": "element type",
        "Tensor": "a tensor in global memory",
        "Mem": None,
        "range": "for i in pl.range(…): a loop",
        "PadValue": None,
        "InOut": "a parameter that is read and written",
        "MemRef": "bytes of an allocation",
    }
    assert all(not name.startswith(("scalar", "_")) for name in found)


@pytest.mark.asyncio
async def test_completion_behind_a_family_has_its_ops(editor: Editor) -> None:
    await editor.open(KERNEL)
    book = Rulebook()
    found = await _offered(editor, "q = pl.system.")
    ops = {s.op.removeprefix("system."): book.meaning(s) for s in book.ops() if s.op.startswith("system.")}
    assert found == {n: meaning for n, meaning in ops.items() if not n.startswith("_")}


@pytest.mark.asyncio
async def test_completion_replaces_the_part_that_is_written(editor: Editor) -> None:
    await editor.open(KERNEL)
    text = "\n".join([*LINES[:8], "        q = pl.tile.ma", *LINES[8:]])
    (found,) = await editor.write(text)
    assert found.code == "unknown-op" or found.message
    (item,) = [i for i in await editor.completion(8, 22) if i.label == "matmul"]
    assert isinstance(item.text_edit, types.TextEdit)
    assert (str(item.text_edit.range), item.text_edit.new_text) == ("8:20-8:22", "matmul")


@pytest.mark.asyncio
async def test_a_text_that_does_not_parse_is_reported_and_completed(editor: Editor) -> None:
    text = "\n".join([*LINES[:7], "        s = pl.mul(pl.exp(t", "        r = pl.", *LINES[8:]])
    (found,) = await editor.open(text)
    assert (found.code, str(found.range)) == ("missing-comma", "8:8-8:9")
    items = await editor.completion(8, 15)
    assert "load" in [i.label for i in items]
    assert await editor.definition(*_at(6, "t = ")) == [":6:8"]


@pytest.mark.asyncio
async def test_a_closed_text_has_no_diagnostics(editor: Editor) -> None:
    assert len(await editor.open(KERNEL.replace("pl.matmul", "pl.matmull"))) == 1
    document = types.TextDocumentIdentifier(editor.uri)
    editor.client.text_document_did_close(types.DidCloseTextDocumentParams(document))
    assert await editor.reported() == []
    assert await editor.hover(6, 8) is None


@pytest.mark.asyncio
async def test_a_rule_file_that_is_changed_is_read_again(tmp_path: Path) -> None:
    rule = tmp_path / "rules/tile/twice.egg"
    rule.parent.mkdir(parents=True)
    text = """; tile.twice -- {}
(operands "tile.twice" "tile:tile")
(result-rule "tile.twice" "first")
(rule ((= c (lower (call "tile.twice" args r))) (= a (item args 0)))
      ((union c (dps "pto.tadd" (vec-of a a) (vec-of r)))) :ruleset lowering :name "tile.twice/add")
"""
    rule.write_text(text.format("every element doubled"))
    client = make_test_lsp_client()
    await client.start_io(*SERVER, "--rules", str(tmp_path / "rules"))
    await client.initialize_session(types.InitializeParams(capabilities=types.ClientCapabilities()))
    editor = Editor(client, tmp_path / "kernel.pyir")
    kernel = KERNEL.replace("pl.exp", "pl.twice")
    assert await editor.open(kernel) == []
    at = (7, LINES[7].index("pl.exp"))
    assert (await editor.hover(*at) or "").split("\n\n")[1] == "every element doubled"
    rule.write_text(text.format("every element two times"))
    assert await editor.write(kernel + "\n") == []
    assert (await editor.hover(*at) or "").split("\n\n")[1] == "every element two times"
    rule.write_text(text.replace('"tile:tile"', '"tile:nonsense"'))
    (found,) = await editor.write(kernel)
    assert (found.code, str(found.range)) == ("rule-file", "0:0-0:1")
    assert found.message.split("\n")[1:] == [f"{rule}:2"]
    assert await editor.hover(*at) is None
    rule.write_text(text.format("every element doubled"))
    assert await editor.write(kernel) == []
    await client.shutdown_session()
    await client.stop()  # type: ignore[no-untyped-call]  # it has no types


def test_a_session_byte_by_byte_ends_silently() -> None:
    """As an editor without our libraries speaks: headers and JSON on stdin, then the end."""

    def message(**fields: object) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", **fields}).encode()
        return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)

    document = {"uri": "untitled:kernel", "languageId": "pyir", "version": 1, "text": KERNEL}
    place = {"textDocument": {"uri": "untitled:kernel"}, "position": {"line": 6, "character": 8}}
    sent = [
        message(id=1, method="initialize", params={"processId": None, "rootUri": None, "capabilities": {}}),
        message(method="initialized", params={}),
        message(method="textDocument/didOpen", params={"textDocument": document}),
        message(id=2, method="textDocument/hover", params=place),
    ]
    with subprocess.Popen(
        SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as server:
        assert server.stdin is not None and server.stdout is not None and server.stderr is not None
        server.stdin.write(b"".join(sent))
        server.stdin.flush()
        answers: dict[object, object] = {}
        while not {1, 2, "textDocument/publishDiagnostics"} <= answers.keys():
            length = int(server.stdout.readline().removeprefix(b"Content-Length: "))
            while server.stdout.readline() != b"\r\n":
                pass
            told = json.loads(server.stdout.read(length))
            answers[told.get("id", told.get("method"))] = told.get("result", told.get("params"))
        server.stdin.write(message(id=3, method="shutdown") + message(method="exit"))
        server.stdin.flush()
        server.stdin.close()
        assert (server.wait(20), server.stderr.read()) == (0, b"")
    assert answers["textDocument/publishDiagnostics"] == {"uri": "untitled:kernel", "version": 1, "diagnostics": []}
    assert answers[2] == {
        "contents": {
            "kind": "markdown",
            "value": "```python\nt: pl.Tile[[16, 64], pl.FP32, pl.Mem.Vec]\n```\n- valid: [n, 64]\n"
            "- layout: row_major, none_box, fractal 512 bytes\n"
            "- memory: Vec, bytes 0..4096 of 188416, in `mem_vec_2`",
        },
        "range": {"start": {"line": 6, "character": 8}, "end": {"line": 6, "character": 9}},
    }


def test_without_the_extra_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['pygls'] = None; from pypto_rw.cli import run; sys.exit(run(['lsp']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pypto-rw: the language server needs an extra: python3 -m pip install 'pypto-rw[lsp]'\n"


def test_a_missing_rules_folder_is_refused(pypto_rw_command: Run) -> None:
    done = pypto_rw_command("lsp", "--rules", "no/such/folder")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "pypto-rw: argument --rules: there is no folder no/such/folder"
