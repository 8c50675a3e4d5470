"""A module after each stage, side by side: what became of each of the author's lines, and which rules made it.

`story` puts the lines of all stages and their common origins together, from an explanation; `text` prints them for a
terminal, `html` as one page that loads nothing. The page's style and behaviour are files under `page/`.
"""

from __future__ import annotations

from pypto_rw.trace.html import as_html
from pypto_rw.trace.story import Story, told
from pypto_rw.trace.text import as_text

__all__ = ["Story", "as_html", "as_text", "told"]
