"""The rule files that a command names."""

from __future__ import annotations

import argparse
import os

from pypto_rw.rewriting.rulebook import Rulebook


def names_option(parser: argparse.ArgumentParser) -> None:
    """Which rule files are meant."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="ops, rule files or folders of them")


def named(book: Rulebook, words: list[str], *, own: bool = False) -> list[str] | str:
    """The files of the search path that the words name, or what is wrong with a word.

    No words: every file; with `own` only those of the folders before the built-in rules, if there are any."""
    names = book.names()
    if not words:
        if own and len(book.folders) > 1:
            mine = tuple(os.path.join(folder, "") for folder in book.folders[:-1])
            return [n for n in names if (f := book.file(n)) is not None and str(f.path).startswith(mine)]
        return names
    wanted = [_name(word, book) for word in words]
    missing = [w for w in wanted if not any(n == w or n.startswith(f"{w}/") for n in names)]
    if missing:
        return f"no rule file {missing[0]}"
    return [n for n in names if any(n == w or n.startswith(f"{w}/") for w in wanted)]


def _name(word: str, book: Rulebook) -> str:
    if os.path.exists(word):  # a path as a shell completes it
        for folder in book.folders:
            inside = os.path.relpath(word, folder)
            if not inside.startswith(os.pardir):
                word = inside
                break
    return word.removesuffix(".egg").rstrip("/").replace(".", "/")
