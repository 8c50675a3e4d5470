"""`pypto-rw explain`: where each printed line came from, and why a rule did not fire."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pypto_rw.commands.diagnostics import Teller, diagnostics_options
from pypto_rw.commands.files import complain, name_of, read, reason
from pypto_rw.commands.options import given_of, rules_option, target_options
from pypto_rw.diagnostics import CompileError, Severity, render
from pypto_rw.explain import Examiner, Explanation, Statement
from pypto_rw.explain.render import as_json, as_text, misses_as_text
from pypto_rw.rewriting.selection import no_rule


def explain(parser: argparse.ArgumentParser) -> None:
    """The options of `explain`."""
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="a kernel; - or none: stdin")
    parser.add_argument("--line", type=int, metavar="N", help="only what stands on this line of the kernel")
    parser.add_argument("--op", metavar="NAME", help="only statements that are this op, in the kernel or on the way")
    parser.add_argument("--why-not", metavar="RULE", help="the condition of this rule that failed, and what it saw")
    parser.add_argument("--json", action="store_true", help="all there is to tell, for programs")
    target_options(parser)
    parser.add_argument("--reference", action="store_true", help="explain what the reference build prints")
    rules_option(parser)
    parser.add_argument("--function", action="append", metavar="NAME", help="only this function (repeatable)")
    diagnostics_options(parser)
    parser.set_defaults(action=_explain)


def _explain(options: argparse.Namespace) -> int:
    file, teller = options.file, Teller(options)
    try:
        source = read(file)
    except (OSError, UnicodeDecodeError) as error:
        return complain(f"cannot read {file}: {reason(error)}")
    try:
        examiner = Examiner(source, **given_of(name_of(file), options.function, options))
        return _told(examiner, options)
    except CompileError as error:
        teller.tell(error.diagnostics, error.source)
        return teller.finish(1)
    except ValueError as error:
        return complain(str(error))
    except (KeyboardInterrupt, OSError):  # stdout, which is no fault of the compiler
        raise
    except BaseException as error:
        from pypto_rw.commands.fault import internal

        return internal(error, source, file, options, teller)


def _told(examiner: Examiner, options: argparse.Namespace) -> int:
    found = examiner.explanation()
    chosen = _chosen(found, options)
    if isinstance(chosen, str):
        return complain(chosen)
    misses = []
    if options.why_not is not None:
        place = examiner.engine.rulebook.rule_file(options.why_not)
        if place is None:
            return complain(_no_rule(examiner, options.why_not))
        if options.line is None and options.op is None:
            own = [s for s in chosen if place[0].name.replace("/", ".") in s.ops]
            chosen = own or chosen
        told = examiner.engine.rulebook.rule_place(options.why_not)
        misses = [(s, told, examiner.why_not(options.why_not, s)) for s in chosen]
        if options.line is None:
            misses = [m for m in misses if m[2]]
    if options.json:
        print(as_json(found, chosen, misses))
    elif options.why_not is not None:
        sys.stdout.write(misses_as_text(found, misses))
    else:
        sys.stdout.write(as_text(found, [s for s in chosen if s.lines or s.questions or options.line is not None]))
    if found.diagnostics:
        print(render(found.diagnostics, found.source), file=sys.stderr)
    return int(any(d.severity is Severity.error for d in found.diagnostics))


def _chosen(found: Explanation, options: argparse.Namespace) -> Sequence[Statement] | str:
    """The statements asked for, or why there are none."""
    chosen: Sequence[Statement] = found.statements
    if options.line is not None:
        chosen = [s for s in chosen if s.line == options.line]
        if not chosen:
            within = [s for s in found.statements if s.line <= options.line <= s.end_line]
            chosen = within[-1:]
        if not chosen:
            return f"no statement stands on line {options.line}"
    if options.op is not None:
        known = dict.fromkeys(op for s in chosen for op in s.ops)
        chosen = [s for s in chosen if any(op == options.op or op.endswith(f".{options.op}") for op in s.ops)]
        if not chosen:
            return f"no statement is {options.op}" + (f"; there is {', '.join(known)}" if known else "")
    return chosen


def _no_rule(examiner: Examiner, name: str) -> str:
    book = examiner.engine.rulebook
    return no_rule(name, sorted({rule for n in book.names() if (file := book.file(n)) for rule in file.rule_lines}))
