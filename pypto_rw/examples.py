"""Examples in rule files: `;! example`, `;! prints`, `;! warns`, `;! refuses`, run as tests. See rules/README.md."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pypto_rw import ir
from pypto_rw.diagnostics import CompileError, Diagnostic
from pypto_rw.lowering.module import print_walked
from pypto_rw.lowering.walk import Walker
from pypto_rw.options import Options
from pypto_rw.records import dataclass, replace
from pypto_rw.rewriting.declared import RuleFile
from pypto_rw.rewriting.engine import Engine
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.rewriting.watching import Watch
from pypto_rw.shaping.unit import surroundings_in
from pypto_rw.syntax import parse, write


@dataclass(frozen=True, slots=True)
class Example:
    """One example of a rule file. `refuses` is the expected code, `becomes` what stands for the statements before
    memory is planned, else `prints` the expected lines, and `warns` the codes of the warnings."""

    file: RuleFile
    line: int
    words: tuple[str, ...]
    body: tuple[str, ...]
    prints: tuple[str, ...] = ()
    refuses: str | None = None
    becomes: tuple[str, ...] = ()
    warns: tuple[str, ...] = ()

    @property
    def targets(self) -> tuple[str, ...]:
        """Targets the example holds for."""
        return tuple(t for t in ("a2a3", "a5") if t in self.words) or ("a2a3", "a5")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an example on one target; `message` empty when it holds."""

    example: Example
    target: str
    message: str = ""


def examples(file: RuleFile) -> Iterator[Example]:
    """Every example of a rule file, in order."""
    current: list[str] | None = None
    head: tuple[int, str, tuple[str, ...]] | None = None
    body: list[str] = []
    prints: list[str] = []
    becomes: list[str] = []
    warns: list[str] = []

    def finished() -> Iterator[Example]:
        if head is None:
            return
        line, kind, words = head
        if kind == "refuses":
            yield Example(file, line, words[:-1], tuple(body), refuses=words[-1] if words else "")
        else:
            yield Example(file, line, words, tuple(body), tuple(prints), becomes=tuple(becomes), warns=tuple(warns))

    for number, text in enumerate(file.text.splitlines(), 1):
        if not text.startswith(";!"):
            continue
        content = text[2:]
        words = content.split()
        if words[:1] in (["example"], ["refuses"]) and not content.startswith("   "):
            yield from finished()
            head, body, prints, becomes, warns = (number, words[0], tuple(words[1:])), [], [], [], []
            current = body
        elif words[:1] == ["warns"] and not content.startswith("   "):
            warns += words[1:]
        elif words == ["prints"]:
            current = prints
        elif words == ["becomes"]:
            current = becomes
        elif words and current is not None:
            told = current is not body
            current.append(content.strip() if told else content.removeprefix("   ").rstrip())
    yield from finished()


class Runner:
    """Runs examples; one engine per target and output mode serves them all."""

    def __init__(self, rulebook: Rulebook) -> None:
        self.rulebook = rulebook
        self._engines: dict[tuple[str, ...], Engine] = {}
        self._file: RuleFile | None = None
        self.watch = Watch()

    def run(self, example: Example) -> Iterator[Outcome]:
        """Run an example on each of its targets."""
        self.start(example.file)
        for target in example.targets:
            try:
                yield Outcome(example, target, _one(example, self, target))
            except CompileError as error:
                self._engines.clear()  # one that could not load a file is of no more use
                yield Outcome(example, target, f"cannot be read: {error}")

    def start(self, file: RuleFile) -> None:
        """Forget what other files' examples have made: an engine is slower the more shapes it holds."""
        if file is not self._file:
            for engine in self._engines.values():
                engine.restart()
            self._file = file

    def fired(self) -> frozenset[str]:
        """Names of the rules that matched in any example so far."""
        return frozenset(self.watch.matches)

    def shapes(self) -> Iterator[tuple[Engine, str]]:
        """Every shape that the examples of the present file have made, with its engine."""
        for engine in self._engines.values():
            for shape in engine.shapes():
                yield engine, shape

    def engine(self, target: str, facts: tuple[str, ...]) -> Engine:
        """The engine for a target and mode."""
        key = (target, *facts)
        if key not in self._engines:
            self._engines[key] = Engine(self.rulebook, target=target, facts=facts, watch=self.watch)
            self._engines[key].keep_beginning()
        return self._engines[key]


def _one(example: Example, runner: Runner, target: str) -> str:
    options = Options(
        filename="example",
        target=target,
        planner="ptoas" if "ptoas" in example.words else "pypto",
        reference="reference" in example.words,
        loc=False,
    )
    engine = runner.engine(target, options.facts)
    function = _function(example)
    if example.becomes:
        return _legalized(example, function, engine)
    memory = _Memory()
    params = tuple(replace(p, type=memory(p.name, p.type)) for p in function.params)
    function = replace(
        function,
        params=params,
        kind="AIV" if "AIV" in example.words else "AIC" if "AIC" in example.words else "InCore",
    )
    walker = Walker(
        engine,
        function,
        addresses=options.addresses,
        filename="example",
        place=memory,
        surroundings=surroundings_in((function,))(function),
    )
    walked = walker.walk()
    diagnostics: list[Diagnostic] = list(walker.diagnostics)
    lines: list[str] = []
    types: dict[str, str] = {}
    warned: list[Diagnostic] = []
    if not diagnostics:
        try:
            lines, types, warned = print_walked(walker, walked, engine, options)
        except CompileError as error:
            diagnostics += error.diagnostics
    if example.refuses is not None:
        codes = sorted({d.code for d in diagnostics})
        if codes != [example.refuses]:
            told = "; ".join(f"{d.code}: {d.message}" for d in diagnostics) or "nothing was refused"
            return f"should refuse with {example.refuses}, but {told}"
        return ""
    if diagnostics:
        return "is refused: " + "; ".join(f"{d.code}: {d.message}" for d in diagnostics)
    if sorted({d.code for d in warned}) != sorted(example.warns):
        told = "; ".join(f"{d.code}: {d.message}" for d in warned) or "does not warn"
        return f"should warn of {', '.join(example.warns) or 'nothing'}, but {told}"
    printed = [line.strip() for text in lines if "= pto.alloc_tile" not in text for line in text.split("\n")]
    expected = [re.sub(r"<(\w+)>", lambda m: types.get(f"%{m[1]}", m[0]), text) for text in example.prints]
    if printed != expected:
        short = {v: f"<{k[1:]}>" for k, v in reversed(types.items()) if "<" in v and not v.startswith("!pto.ptr")}
        got = [re.sub(r"!pto\.\w+<[^<>]*>", lambda m: short.get(m[0], m[0]), text) for text in printed]
        return "prints\n    " + "\n    ".join(got or ["nothing"])
    return ""


def _legalized(example: Example, function: ir.Function, engine: Engine) -> str:
    """What is wrong with what stands for the statements before memory is planned."""
    from pypto_rw.front.legal import Legalizer  # only these examples need the front stages
    from pypto_rw.front.typed import Typer

    params = tuple(
        replace(p, type=replace(p.type, space=ir.Space.Vec))
        if isinstance(p.type, ir.TileType) and p.type.space is None
        else p
        for p in function.params
    )
    function = replace(function, params=params, kind="AIV" if "AIV" in example.words else "InCore")
    typer = Typer(engine, function, surroundings_in((function,))(function), "example")
    typed = typer.function()
    legalizer = Legalizer(engine, typed, surroundings_in((typed,))(typed), "example")
    legal = legalizer.function() if not typer.diagnostics else typed
    if refused := [*typer.diagnostics, *legalizer.diagnostics]:
        return "is refused: " + "; ".join(f"{d.code}: {d.message}" for d in refused)
    plain = tuple(replace(s, type=None) if isinstance(s, ir.Assign) else s for s in legal.body)
    text = write(ir.Module(None, (replace(legal, body=plain),))).splitlines()
    start = next(k for k, line in enumerate(text) if line.startswith("def "))
    became = tuple(line.strip() for line in text[start + 1 :])
    return "" if became == example.becomes else "becomes\n    " + "\n    ".join(became)


_WORDS = re.compile(r"(?<![\w.])(?:(Tile|Tensor|Window|Scalar|Array|TileView|TensorView|MemRef)(?=[\[(])|(\w+))")
_SPACES = frozenset(s.value for s in ir.Space)
_DTYPES = frozenset(d.value for d in ir.DType)
_LAYOUTS = frozenset(x.value for x in ir.TileLayout)
_TENSOR_LAYOUTS = frozenset(x.value for x in ir.TensorLayout)


def _long(text: str) -> str:
    """A short type (`Tile[[32, 32], FP32, Acc]`) as the language writes it."""

    def word(m: re.Match[str]) -> str:
        if m[1]:
            return "pld.DistributedTensor" if m[1] == "Window" else f"pl.{m[1]}"
        w = m[2]
        before = text[: m.start()].rstrip()
        if w in _DTYPES:
            return f"pl.{w}"
        if w in _SPACES:
            return f"pl.Mem.{w}"
        if before.endswith("layout=") and w in _LAYOUTS:
            return f"pl.TileLayout.{w}"
        if before.endswith("layout=") and w in _TENSOR_LAYOUTS:
            return f"pl.TensorLayout.{w}"
        if before.endswith("pad="):
            return f"pl.PadValue.{w}"
        if before.endswith("compact="):
            return f"pl.CompactMode.{w}"
        if w in _TENSOR_LAYOUTS:
            return f"pl.{w}"
        return w

    return _WORDS.sub(word, text)


_DECLARATION = re.compile(r"^(\w+(?:, *\w+)*): *((?:Tile|Tensor|Window|Scalar|Array)\[.*\])$")
_ANNOTATED = re.compile(r"^(\s*\w+: *)((?:Tile|Tensor|Window|Scalar|Array)\[.*?\])( = .*)$")


def _function(example: Example) -> ir.Function:
    params = []
    contexts: list[str] = []
    body = []
    for text in example.body:
        if m := _DECLARATION.match(text):
            params += [f"{n.strip()}: {_long(m[2])}" for n in m[1].split(",")]
            if m[2].startswith("Window"):
                contexts += [f"{n.strip()}_ctx: pld.CommCtxType" for n in m[1].split(",")]
        elif m := _ANNOTATED.match(text):
            body.append(m[1] + _long(m[2]) + m[3])
        else:
            body.append(text)
    lines = [
        "import pypto.language as pl",
        "",
        "@pl.function(type=pl.FunctionType.InCore)",
        f"def example({', '.join(params + contexts)}):",
    ]
    lines += [f"    {text}" for text in body or ["pass"]]
    module = parse("\n".join(lines) + "\n", filename=f"{example.file.path}:{example.line}")
    return module.functions[0]


class _Memory:
    """Gives every tile an allocation of its own."""

    def __init__(self) -> None:
        self.next = 0

    def __call__(self, name: str, t: ir.Type) -> ir.Type:
        if not isinstance(t, ir.TileType) or t.memref is not None:
            return t
        self.next += 1
        memref = ir.MemRef(f"mem_{name}", ir.Int(self.next * 65536, ir.DType.INT64), 65536)
        return replace(t, memref=memref, space=t.space or ir.Space.Vec)
