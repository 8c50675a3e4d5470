"""The command line: `pypto-rw lower | check | fmt | memory | rules | verify`.

stdout carries the product, stderr everything else. Exit codes: 0 ok, 1 input refused, 2 usage or file, 3 internal
error with a reproducer, 130 interrupted. Source: design §6.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from pypto_rw import api
from pypto_rw.diagnostics import CompileError, Diagnostic, InternalError, Severity, render
from pypto_rw.pipeline import STAGES

COMMANDS = ("lower", "check", "fmt", "memory", "rules", "verify")


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit code."""
    try:
        return _run(list(arguments))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the reader went away; nothing more can be told
        return 0


def _run(arguments: list[str]) -> int:
    if not arguments or (arguments[0] not in COMMANDS and arguments[0] not in ("-h", "--help", "--version")):
        arguments.insert(0, "lower")  # `pypto-rw kernel.pyir` and `pypto-rw < kernel.pyir`
    parser = _parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2
    action: Callable[[argparse.Namespace], int] = options.action
    return action(options)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"pypto-rw: {message}", file=sys.stderr)
        raise SystemExit(2)


class _ShowVersion(argparse.Action):
    """`importlib.metadata` takes a tenth of a cold start, so only this asks it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"pypto-rw {_version()}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="pypto-rw", description="Lower textual PyPTO IR (.pyir) to PTO-ISA MLIR (.pto).")
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="print the version")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    lower = commands.add_parser("lower", help="print the .pto of each file (the default command)")
    _compile_options(lower)
    lower.add_argument("-o", "--output", metavar="OUT", help="write to OUT (a folder when there are several files)")
    lower.add_argument(
        "--stop-after",
        metavar="STAGE",
        choices=list(STAGES),
        help=f"print the module after a stage: {', '.join(STAGES)}",
    )
    lower.add_argument("--no-loc", action="store_true", help="no source places on op lines")
    lower.set_defaults(action=_lower)
    check = commands.add_parser("check", help="report what would be refused, print nothing")
    _compile_options(check)
    check.set_defaults(action=_check, no_loc=True, stop_after=None)
    memory = commands.add_parser("memory", help="show which tile is in which bytes, and when")
    memory.add_argument("files", nargs="*", metavar="FILE", help="kernels; - or none: stdin")
    _target_options(memory)
    memory.add_argument("--rules", action="append", default=[], metavar="DIR", help="a rules folder to search first")
    memory.add_argument("--html", metavar="OUT", help="write the map as a page to OUT instead")
    memory.set_defaults(action=_memory)
    fmt = commands.add_parser("fmt", help="print each file in the layout of PyPTO's own printer")
    fmt.add_argument("files", nargs="*", metavar="FILE")
    fmt.add_argument("-w", "--write", action="store_true", help="rewrite the files in place")
    fmt.add_argument("--check", action="store_true", help="only tell which files would change (exit 1)")
    fmt.set_defaults(action=_fmt)
    verify = commands.add_parser("verify", help="check .pto text from anywhere")
    verify.add_argument("files", nargs="*", metavar="FILE", help=".pto files; - or none: stdin")
    _target_options(verify)
    verify.set_defaults(action=_verify)
    rules = commands.add_parser("rules", help="list and test rule files")
    kinds = rules.add_subparsers(dest="what", required=True, parser_class=_Parser)
    listing = kinds.add_parser("list", help="op, file, targets, meaning")
    testing = kinds.add_parser("test", help="run the examples of rule files")
    for sub, action in ((listing, _rules_list), (testing, _rules_test)):
        sub.add_argument("names", nargs="*", metavar="NAME", help="ops, rule files or folders of them; none: all")
        sub.add_argument("--rules", action="append", default=[], metavar="DIR", help="a rules folder to search first")
        sub.set_defaults(action=action)
    return parser


def _compile_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="kernels; - or none: stdin")
    _target_options(parser)
    parser.add_argument("--reference", action="store_true", help="print exactly what the reference build prints")
    parser.add_argument("--rules", action="append", default=[], metavar="DIR", help="a rules folder to search first")
    parser.add_argument("--function", action="append", metavar="NAME", help="only this function (repeatable)")


def _target_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", default="a2a3", choices=list(api.TARGETS), help="chip (default a2a3)")
    parser.add_argument("--planner", default="pypto", choices=api.PLANNERS, help="memory planner (default pypto)")
    parser.add_argument("--ptoas", default="0.57", choices=api.ASSEMBLERS, help="assembler the text is for")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pypto-rw")
    except PackageNotFoundError:
        return "0"


# ------------------------------------------------------------------------------------ lower, check


def _lower(options: argparse.Namespace) -> int:
    files = options.files or ["-"]
    outputs: list[tuple[str, str]] = []
    worst = 0
    for file in files:
        code, text = _compile(file, options)
        worst = max(worst, code)
        if text is not None:
            outputs.append((file, text))
    if worst:
        return worst
    if options.output is None or options.output == "-":
        for _, text in outputs:
            sys.stdout.write(text)
        return 0
    for file, text in outputs:
        target = Path(options.output)
        if len(files) > 1 or target.is_dir():
            suffix = "pyir" if options.stop_after else "pto"
            target = target / f"{'stdin' if file == '-' else Path(file).stem}.{suffix}"
        if (problem := _write(target, text)) is not None:
            return _complain(problem)
    return 0


def _check(options: argparse.Namespace) -> int:
    return max(_compile(file, options)[0] for file in options.files or ["-"])


def _compile(file: str, options: argparse.Namespace) -> tuple[int, str | None]:
    try:
        source = _read(file)
    except (OSError, UnicodeDecodeError) as error:
        return _complain(f"cannot read {file}: {_reason(error)}"), None
    try:
        if options.stop_after:
            staged = api.stop_after(
                source,
                stage=options.stop_after,
                filename="<stdin>" if file == "-" else file,
                target=options.target,
                planner=options.planner,
                reference=options.reference,
                rules=options.rules,
                functions=options.function,
            )
            if staged.diagnostics:
                print(render(staged.diagnostics, source), file=sys.stderr)
            return 0, staged.pyir
        lowered = api.lower(
            source,
            filename="<stdin>" if file == "-" else file,
            target=options.target,
            planner=options.planner,
            ptoas=options.ptoas,
            reference=options.reference,
            loc=not options.no_loc,
            rules=options.rules,
            functions=options.function,
        )
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1, None
    except ValueError as error:
        return _complain(str(error)), None
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except BaseException as error:
        return _internal(error, source, file, options), None
    if lowered.diagnostics:
        print(render(lowered.diagnostics, source), file=sys.stderr)
    return int(any(d.severity is Severity.error for d in lowered.diagnostics)), lowered.mlir


def _memory(options: argparse.Namespace) -> int:
    from pypto_rw.memory.chart import charts
    from pypto_rw.memory.picture import as_html, as_text
    from pypto_rw.rulebook import Rulebook

    texts = []
    for file in options.files or ["-"]:
        try:
            source = _read(file)
            staged = api.stop_after(
                source,
                stage="plan",
                filename="<stdin>" if file == "-" else file,
                target=options.target,
                planner=options.planner,
                rules=options.rules,
            )
            target = api.TARGETS[options.target]
            found = charts(
                staged.module, planner=options.planner, target=target, rulebook=Rulebook(tuple(options.rules))
            )
            title = f"{'stdin' if file == '-' else Path(file).name}, {target}, planner {options.planner}"
            texts.append(as_text(found) if options.html is None else as_html(found, title))
        except (OSError, UnicodeDecodeError) as error:
            return _complain(f"cannot read {file}: {_reason(error)}")
        except CompileError as error:
            print(error, file=sys.stderr)
            return 1
    if options.html is None:
        sys.stdout.write("\n".join(texts))
        return 0
    if len(texts) > 1:
        return _complain("--html takes one kernel")
    problem = _write(Path(options.html), texts[0])
    return 0 if problem is None else _complain(problem)


def _verify(options: argparse.Namespace) -> int:
    worst = 0
    for file in options.files or ["-"]:
        try:
            text = _read(file)
        except (OSError, UnicodeDecodeError) as error:
            return _complain(f"cannot read {file}: {_reason(error)}")
        found = api.verify(
            text,
            target=options.target,
            planner=options.planner,
            ptoas=options.ptoas,
            filename="<stdin>" if file == "-" else file,
        )
        if found:
            print(render(found, text), file=sys.stderr)
            worst = 1
    return worst


def _internal(error: BaseException, source: str, file: str, options: argparse.Namespace) -> int:
    """A fault of the compiler: say so, and leave what reproduces it."""
    folder = Path(tempfile.mkdtemp(prefix="pypto-rw-fault-"))
    kernel = folder / "kernel.pyir"
    kernel.write_text(source, errors="surrogateescape")
    (folder / "traceback.txt").write_text("".join(traceback.format_exception(error)))
    command = f"pypto-rw lower {kernel} --target {options.target} --planner {options.planner} --ptoas {options.ptoas}"
    diagnostic = Diagnostic(
        "internal-error",
        f"the compiler failed: {error if isinstance(error, InternalError) else type(error).__name__}",
        filename=file,
        help=f"this is no fault of the kernel; {folder} has the input and the traceback. To see it again: {command}",
    )
    print(render([diagnostic]), file=sys.stderr)
    return 3


# -------------------------------------------------------------------------------------------- fmt


def _fmt(options: argparse.Namespace) -> int:
    from pypto_rw.syntax import parse, write

    worst = 0
    for file in options.files or ["-"]:
        try:
            source = _read(file)
            text = write(parse(source, filename="<stdin>" if file == "-" else file))
        except (OSError, UnicodeDecodeError) as error:
            return _complain(f"cannot read {file}: {_reason(error)}")
        except CompileError as error:
            print(error, file=sys.stderr)
            worst = max(worst, 1)
            continue
        if options.check:
            if text != source:
                print(file)
                worst = max(worst, 1)
        elif options.write and file != "-":
            if text != source and (problem := _write(Path(file), text)) is not None:
                return _complain(problem)
        else:
            sys.stdout.write(text)
    return worst


# ------------------------------------------------------------------------------------------ rules


def _rules_list(options: argparse.Namespace) -> int:
    from pypto_rw.rulebook import Rulebook

    try:
        rulebook = Rulebook(tuple(options.rules))
        rows = [
            (s.op, f"{s.op.replace('.', '/')}.egg", ",".join(rulebook.targets(s)), rulebook.meaning(s))
            for s in rulebook.ops()
            if not options.names or any(s.op.startswith(n) for n in options.names)
        ]
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    widths = [max((len(r[k]) for r in rows), default=0) for k in range(3)]
    for row in rows:
        print("  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]]).rstrip())
    return 0


def _rules_test(options: argparse.Namespace) -> int:
    from pypto_rw.examples import Runner, examples
    from pypto_rw.rulebook import Rulebook

    try:
        rulebook = Rulebook(tuple(options.rules))
        names = rulebook.names()
        if options.names:
            wanted = [n.removesuffix(".egg").replace(".", "/") for n in options.names]
            missing = [w for w in wanted if not any(n == w or n.startswith(f"{w}/") for n in names)]
            if missing:
                return _complain(f"no rule file {missing[0]}")
            names = [n for n in names if any(n == w or n.startswith(f"{w}/") for w in wanted)]
        runner = Runner(rulebook)
        count = failed = 0
        for name in names:
            file = rulebook.file(name)
            assert file is not None
            for example in examples(file):
                for outcome in runner.run(example):
                    count += 1
                    if outcome.message:
                        failed += 1
                        print(
                            f"{file.path}:{example.line}: {outcome.target}: {outcome.message}",
                            file=sys.stderr,
                        )
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{count} examples, {failed} failed")
    return 1 if failed else 0


# ------------------------------------------------------------------------------------------ files


def _read(file: str) -> str:
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    return data.decode("utf-8")


def _write(path: Path, text: str) -> str | None:
    """Write atomically: the file is the old one or the whole new one. A message when it cannot be."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
                out.write(text)
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
            os.chmod(name, mode)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        return f"cannot write {path}: {_reason(error)}"
    return None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is not UTF-8 text"


def _complain(message: str) -> int:
    print(f"pypto-rw: {message}", file=sys.stderr)
    return 2
