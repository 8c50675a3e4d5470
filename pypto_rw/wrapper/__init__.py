"""What follows the `.pto`: the assembler's run, kernel sources, the manifest, orchestrations.

A reader starts at `build.py`. Nothing here is imported unless something is built.
"""

from pypto_rw.wrapper.assembler import Assembler, NotFound, locate
from pypto_rw.wrapper.build import BuildError, Built, Plan, build
from pypto_rw.wrapper.manifest import Runtime

__all__ = ["Assembler", "BuildError", "Built", "NotFound", "Plan", "Runtime", "build", "locate"]
