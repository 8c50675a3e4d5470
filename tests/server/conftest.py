"""A client of `pypto-rw lsp`, which runs as a process of its own and is spoken to on its stdin and stdout."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

from tests.conftest import ROOT

SERVER = [sys.executable, "-m", "pypto_rw", "lsp", "--stdio"]


class Editor:
    """One open kernel, as an editor has it."""

    def __init__(self, client: LanguageClient, path: Path) -> None:
        self.client, self.uri = client, path.as_uri()
        self.version = 0

    async def open(self, text: str) -> list[types.Diagnostic]:
        """Open the text; what is reported of it."""
        item = types.TextDocumentItem(self.uri, "pyir", self.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.reported()

    async def replace(self, *changes: types.TextDocumentContentChangeEvent) -> list[types.Diagnostic]:
        """Change the text, a keystroke each; what is reported in the end."""
        for change in changes:
            self.version += 1
            document = types.VersionedTextDocumentIdentifier(self.version, self.uri)
            self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
        return await self.reported()

    async def write(self, text: str) -> list[types.Diagnostic]:
        """The whole text anew; what is reported of it."""
        return await self.replace(types.TextDocumentContentChangeWholeDocument(text))

    async def reported(self) -> list[types.Diagnostic]:
        """The next report."""
        await self.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        return list(self.client.diagnostics[self.uri])

    async def hover(self, line: int, character: int) -> str | None:
        """Markdown of the hover at a 0-based place, without paths of this machine."""
        params = types.HoverParams(types.TextDocumentIdentifier(self.uri), types.Position(line, character))
        found = await self.client.text_document_hover_async(params)
        if found is None:
            return None
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value.replace(ROOT.as_uri(), "file:///root")

    async def symbols(self) -> list[types.DocumentSymbol]:
        """The functions."""
        params = types.DocumentSymbolParams(types.TextDocumentIdentifier(self.uri))
        found = await self.client.text_document_document_symbol_async(params)
        return [s for s in found or () if isinstance(s, types.DocumentSymbol)]

    async def definition(self, line: int, character: int) -> list[str]:
        """Places of the definition, as `file:line:character`, 0-based."""
        params = types.DefinitionParams(types.TextDocumentIdentifier(self.uri), types.Position(line, character))
        found = await self.client.text_document_definition_async(params)
        assert isinstance(found, list)
        return [
            f"{'' if at.uri == self.uri else at.uri.removeprefix(ROOT.as_uri())}:{at.range.start.line}"
            f":{at.range.start.character}"
            for at in found
            if isinstance(at, types.Location)
        ]

    async def completion(self, line: int, character: int) -> list[types.CompletionItem]:
        """What may be written at a place."""
        params = types.CompletionParams(types.TextDocumentIdentifier(self.uri), types.Position(line, character))
        found = await self.client.text_document_completion_async(params)
        assert isinstance(found, types.CompletionList)
        return list(found.items)


@pytest_lsp.fixture(config=ClientServerConfig(server_command=SERVER))  # type: ignore[untyped-decorator]  # it has no types
async def client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    """A client whose diagnostics may have related places."""
    capabilities = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True)
        )
    )
    await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities))
    yield
    await lsp_client.shutdown_session()
