"""The protocol: documents, when they are checked, and answers in the client's coordinates.

A text is checked a moment after the last keystroke, on one worker thread; a text that has been changed meanwhile is not
reported. Questions about values wait for the worker, completion does not.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlparse

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace.position_codec import PositionCodec

from pypto_rw import api
from pypto_rw.diagnostics import CompileError, Severity, Span
from pypto_rw.options import Options
from pypto_rw.resources import version
from pypto_rw.rewriting.rulebook import Rulebook
from pypto_rw.server.analysis import Analysis
from pypto_rw.server.catalogue import Catalogue
from pypto_rw.server.completion import complete
from pypto_rw.server.findings import Reporter
from pypto_rw.server.hover import hover
from pypto_rw.server.navigation import definition, symbols
from pypto_rw.server.positions import from_position, to_range
from pypto_rw.server.scan import Text

T = TypeVar("T")
_PAUSE = 0.12  # seconds without a keystroke before a text is checked
_KINDS = {
    "op": types.CompletionItemKind.Function,
    "module": types.CompletionItemKind.Module,
    "dtype": types.CompletionItemKind.EnumMember,
    "member": types.CompletionItemKind.EnumMember,
    "keyword": types.CompletionItemKind.Keyword,
    "argument": types.CompletionItemKind.Property,
    "variable": types.CompletionItemKind.Variable,
    "type": types.CompletionItemKind.Class,
}


class Document:
    """One open text: what is known of it now, and of the last text that had no errors."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.text = Text("")
        self.analysis: Analysis
        self.earlier: Analysis | None = None
        self.check: asyncio.Task[None] | None = None


class Session:
    """A client and its open documents."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.catalogue = Catalogue(Rulebook(options.rules))
        self._stamps = _stamps(options)
        self.documents: dict[str, Document] = {}
        self.worker = ThreadPoolExecutor(1, "check")
        self.server = LanguageServer("pypto-rw", version())
        self._register()

    def run(self) -> None:
        """Serve stdin and stdout until the client leaves.

        An e-graph may only be dropped by the thread that made it, so garbage is collected on the worker alone."""
        gc.disable()
        self.worker.submit(lambda: self.catalogue.meanings)
        try:
            self.server.start_io()
        finally:
            self.worker.submit(_drop)
            self.worker.shutdown()

    def _register(self) -> None:
        self._serve(types.TEXT_DOCUMENT_DID_OPEN, self.opened)
        self._serve(types.TEXT_DOCUMENT_DID_CHANGE, self.changed)
        self._serve(types.TEXT_DOCUMENT_DID_CLOSE, self.closed)
        self._serve(types.TEXT_DOCUMENT_HOVER, self.hover)
        self._serve(types.TEXT_DOCUMENT_DEFINITION, self.definition)
        self._serve(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, self.symbols)
        asks = types.CompletionOptions(trigger_characters=[".", "(", "=", "@"])
        self._serve(types.TEXT_DOCUMENT_COMPLETION, self.completion, asks)

    def _serve(self, name: str, answer: Callable[[Any], Awaitable[object]], options: object = None) -> None:
        async def serve(params: Any) -> object:  # pygls marks the function, which a method does not let it do
            try:
                return await answer(params)
            except CompileError:  # of a rule file; the check of the text tells it
                return None

        self.server.feature(name, options)(serve)

    @property
    def codec(self) -> PositionCodec:
        """How the client counts characters."""
        return self.server.workspace.position_codec

    # --------------------------------------------------------------------------------------------- documents

    async def opened(self, params: types.DidOpenTextDocumentParams) -> None:
        """A text was opened."""
        self.documents[params.text_document.uri] = Document(params.text_document.uri)
        self._take(params.text_document.uri, pause=0)

    async def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        """A text was changed."""
        self._take(params.text_document.uri, pause=_PAUSE)

    async def closed(self, params: types.DidCloseTextDocumentParams) -> None:
        """A text was closed: what was reported of it goes away."""
        document = self.documents.pop(params.text_document.uri, None)
        if document is not None and document.check is not None:
            document.check.cancel()
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))

    def _take(self, uri: str, *, pause: float) -> None:
        document = self.documents[uri]
        current = self.server.workspace.get_text_document(uri)
        document.text = Text(current.source)
        document.analysis = Analysis(current.source, _filename(uri), self.options)
        if document.check is not None:
            document.check.cancel()
        document.check = asyncio.get_running_loop().create_task(self._check(document, current.version, pause))

    async def _check(self, document: Document, number: int | None, pause: float) -> None:
        await asyncio.sleep(pause)
        analysis, text = document.analysis, document.text
        await self._worked(self._reread)
        findings = await self._worked(lambda: analysis.findings)
        if analysis is not document.analysis:
            return
        if not any(d.severity is Severity.error for d in findings):
            document.earlier = analysis
        shown = list(map(self._reporter(document, analysis, text).report, findings))
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, shown, number))
        await self._worked(gc.collect)

    def _reread(self) -> None:
        """The ops anew where a file of the user's rule folders has changed."""
        stamps = _stamps(self.options)
        if stamps != self._stamps:
            self._stamps = stamps
            with suppress(CompileError):  # the folder is gone; the check of the text tells it
                self.catalogue = Catalogue(Rulebook(self.options.rules))

    async def _worked(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.worker, work)

    def _reporter(self, document: Document, analysis: Analysis, text: Text) -> Reporter:
        documents = self.server.client_capabilities.text_document
        published = documents.publish_diagnostics if documents is not None else None
        related = bool(published is not None and published.related_information)
        rulebook = self.catalogue.rulebook
        return Reporter(document.uri, analysis.filename, text.lines, self.codec, rulebook, related)

    # --------------------------------------------------------------------------------------------- questions

    def _asked(self, params: Any) -> tuple[Document, int, int] | None:
        document = self.documents.get(params.text_document.uri)
        if document is None:
            return None
        return document, *from_position(params.position, document.text.lines, self.codec)

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """The word under the pointer."""
        if (asked := self._asked(params)) is None:
            return None
        document, line, column = asked
        text, analysis, earlier = document.text, document.analysis, document.earlier
        found = await self._worked(lambda: hover(text, analysis, earlier, self.catalogue, line, column))
        if found is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, found[0])
        return types.Hover(content, to_range(found[1], text.lines, self.codec))

    async def definition(self, params: types.DefinitionParams) -> list[types.Location]:
        """Where the word comes from."""
        if (asked := self._asked(params)) is None:
            return []
        document, line, column = asked
        text, analysis = document.text, document.analysis
        targets = await self._worked(lambda: definition(text, analysis, self.catalogue, line, column))
        return [
            types.Location(document.uri, to_range(t.span, text.lines, self.codec))
            if t.path is None
            else types.Location(Path(t.path).absolute().as_uri(), _whole_line(t.span))
            for t in targets
        ]

    async def symbols(self, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        """The functions."""
        document = self.documents.get(params.text_document.uri)
        if document is None:
            return []
        lines = document.text.lines
        return [
            types.DocumentSymbol(
                name=s.name,
                kind=types.SymbolKind.Function,
                range=to_range(s.span, lines, self.codec),
                selection_range=to_range(s.selection, lines, self.codec),
            )
            for s in symbols(document.text)
        ]

    async def completion(self, params: types.CompletionParams) -> types.CompletionList:
        """What may be written at a place."""
        if (asked := self._asked(params)) is None:
            return types.CompletionList(False, [])
        document, line, column = asked
        text = document.text
        choices = complete(text, document.analysis.source, self.catalogue, line, column)
        items = [
            types.CompletionItem(
                label=c.label,
                kind=_KINDS[c.kind],
                detail=c.detail or None,
                sort_text=f"{k:04}",
                text_edit=types.TextEdit(to_range(c.span, text.lines, self.codec), c.label),
            )
            for k, c in enumerate(choices)
        ]
        return types.CompletionList(False, items)


def _stamps(options: Options) -> list[tuple[str, int]]:
    """The files of the user's rule folders and when they were written."""
    files = (f for folder in options.rules for f in sorted(Path(folder).rglob("*.egg")))
    return [(str(f), f.stat().st_mtime_ns) for f in files]


def _drop() -> None:
    """Let go of everything that was compiled."""
    api.forget()
    gc.collect()


def _filename(uri: str) -> str:
    parsed = urlparse(uri)
    return unquote(parsed.path) if parsed.scheme == "file" else uri


def _whole_line(span: Span) -> types.Range:
    at = types.Position(span.line - 1, 0)
    return types.Range(at, at)
