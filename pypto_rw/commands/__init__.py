"""The commands, one module each: `module.command(parser)` adds a command's options and its action to a parser.

A module is imported when its command is given.
"""

from __future__ import annotations

# command -> (module, one line of help); the function in the module has the command's name
COMMANDS = {
    "lower": ("compile", "print the .pto of each file (the default command)"),
    "check": ("compile", "report what would be refused, print nothing"),
    "build": ("build", "kernel sources, orchestrations and manifest of a program"),
    "explain": ("explain", "where each printed line came from, and why a rule did not fire"),
    "memory": ("memory", "show which tile is in which bytes, and when"),
    "fmt": ("fmt", "print each file in the layout of PyPTO's own printer"),
    "verify": ("verify", "check .pto text from anywhere"),
    "diff": ("diff", "whether two .pto or .pyir differ in more than names and constants"),
    "reduce": ("reduce", "the smallest kernel that still shows a fault"),
    "lit": ("lit", "run files with RUN, CHECK and expected-error lines"),
    "codes": ("codes", "what a diagnostic code means, with an example"),
    "trace": ("trace", "the module after each stage, and what became of each line"),
    "lsp": ("lsp", "the language server for editors"),
    "rules": ("rules", "list and test rule files"),
}
