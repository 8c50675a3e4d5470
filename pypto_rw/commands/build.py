"""`pypto-rw build`."""

from __future__ import annotations

import argparse
import sys

from pypto_rw import api
from pypto_rw.commands.diagnostics import Teller, diagnostics_options
from pypto_rw.commands.fault import internal
from pypto_rw.commands.files import complain, name_of, read, reason
from pypto_rw.commands.options import chip_options, rules_option
from pypto_rw.diagnostics import CompileError, render
from pypto_rw.options import ASSEMBLERS


def build(parser: argparse.ArgumentParser) -> None:
    """The options of `build`."""
    parser.add_argument("file", metavar="FILE", help="the program; - is stdin")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="folder for all that is made")
    parser.add_argument("--ptoas", metavar="PATH", help="the assembler (else under PTOAS_ROOT, else on PATH)")
    parser.add_argument("--ptoas-version", default="0.57", choices=ASSEMBLERS, help="assembler the text is for")
    parser.add_argument("--skip-ptoas", action="store_true", help="no assembler: the .pto of each kernel")
    parser.add_argument("--dump-ptoas-passes", action="store_true", help="keep what the assembler prints of its passes")
    parser.add_argument("--runtime", default="tensormap_and_ringbuffer", metavar="NAME", help="what runs the build")
    chip_options(parser)
    parser.add_argument("--reference", action="store_true", help="write exactly what the reference build writes")
    rules_option(parser)
    parser.add_argument("--no-loc", action="store_true", help="no source places on op lines")
    diagnostics_options(parser)
    parser.set_defaults(action=_build)


def _build(options: argparse.Namespace) -> int:
    teller = Teller(options)
    return teller.finish(_built(options, teller))


def _built(options: argparse.Namespace, teller: Teller) -> int:
    file = options.file
    try:
        source = read(file)
    except (OSError, UnicodeDecodeError) as error:
        return complain(f"cannot read {file}: {reason(error)}")
    options.ptoas, assembler = options.ptoas_version, options.ptoas  # what `internal` names
    try:
        built = api.build(
            source,
            options.output,
            filename=name_of(file),
            target=options.target,
            planner=options.planner,
            ptoas=assembler,
            ptoas_version=options.ptoas_version,
            skip_ptoas=options.skip_ptoas,
            dump_ptoas_passes=options.dump_ptoas_passes,
            runtime=options.runtime,
            reference=options.reference,
            loc=False if options.no_loc else None,
            rules=options.rules,
            progress=_progress if sys.stderr.isatty() else None,
        )
    except CompileError as error:
        if not teller.is_text:
            teller.tell(error.diagnostics, source)
            return 1
        located = [d for d in error.diagnostics if d.span] if str(error) != render(error.diagnostics, source) else []
        teller.say("\n".join([*([render(located, source)] if located else []), str(error)]))
        return 1
    except FileNotFoundError as error:
        return complain(reason(error))
    except ValueError as error:
        return complain(str(error))
    except OSError as error:
        return complain(f"cannot write {error.filename or options.output}: {reason(error)}")
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except BaseException as error:
        return internal(error, source, file, options, teller)
    teller.tell(built.diagnostics, source)
    return 0


def _progress(done: int, total: int, unit: str) -> None:
    """One line on a terminal, for more than a handful of kernels."""
    if total > 5:
        end = "\n" if done == total else ""
        print(f"\r\x1b[K[{done}/{total}] {unit}", end=end, file=sys.stderr, flush=True)
