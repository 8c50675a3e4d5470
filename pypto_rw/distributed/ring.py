"""The ring allreduce of a window, as statements of the language: `pld.tensor.allreduce(…, mode="ring")` in a kernel.

The elements are cut into one segment a rank. In each of R - 1 steps a rank adds its left neighbour's share of a segment
to its own (reduce and scatter), in R - 1 more it takes over the finished segments (gather); before it reads, and again
before it writes, all ranks meet at the signal's row for that step. The signal is INT32 `[2 (R - 1), R]`.
Templates as in collectives.py; `@` in a name marks the phase. Source: distributed.md §8.
"""

from __future__ import annotations

from pypto_rw.distributed.collectives import FLAT, SETUP, indented

HEAD = """
{here}: pl.Scalar[pl.INDEX] = pl.cast({me}, pl.INDEX)
"""
STEPS = """
{steps}: pl.Scalar[pl.INDEX] = {n} - 1
"""
SEGMENT = """
{left@}: pl.Scalar[pl.INDEX] = ({here} - 1 + {n}) % {n}
{begin@}: pl.Scalar[pl.INDEX] = @begin
{end@}: pl.Scalar[pl.INDEX] = @end
{cols@}: pl.Scalar[pl.INDEX] = {end@} - {begin@}
"""
MEETING = """
{epoch@}: pl.Scalar[pl.INT32] = pl.cast(@credits, pl.INT32)
for {p@} in pl.range({n}):
    if {p@} != pl.cast({me}, pl.INDEX):
        pld.system.notify({bell}, {p@}, [@row, {me}], pl.const(1, pl.INT32), op=0)
for {s@} in pl.range({n}):
    if {s@} != pl.cast({me}, pl.INDEX):
        pld.system.wait({bell}, [@row, {s@}], {epoch@}, cmp=1)
"""
READ = """
if @off < {cols@}:
    {got@} = pld.tile.remote_load({flat}, {left@}, [0, @at], [1, {chunk}], [1, @valid])
    {filled@} = pl.tile.fillpad_inplace({got@}, pad_value=pl.PadValue.zero)
    @combined
else:
    {none@} = pl.tile.load({flat}, [0, 0], [1, {chunk}], [1, 1], target_memory=pl.Mem.Vec)
    {nothing@} = pl.tile.fillpad_inplace({none@}, pad_value=pl.PadValue.zero)
    {part@} = pl.yield_({nothing@})
"""
REDUCED = """{own@} = pl.tile.load({flat}, [0, @at], [1, {chunk}], [1, @valid], target_memory=pl.Mem.Vec)
    {mine@} = pl.tile.fillpad_inplace({own@}, pad_value=pl.PadValue.zero)
    {sum@} = pl.tile.{reduce}({mine@}, {filled@})
    {part@} = pl.yield_({sum@})"""
TAKEN = "{part@} = pl.yield_({filled@})"
# what is stored ends at the tensor's end at the latest
WRITTEN = """
if @off < {cols@}:
    {cut@} = pl.tile.set_validshape({part@}, 1, @rest - pl.max(@rest - @valid, 0))
    {stored@} = pl.tile.store({cut@}, [0, {count} - @rest], {flat})
"""
EPILOGUE = """
{total}: pl.Scalar[pl.INT32] = pl.cast(@credits, pl.INT32)
for {row} in pl.range(@rows):
    for {e} in pl.range({n}):
        if {e} != pl.cast({me}, pl.INDEX):
            pld.system.notify({bell}, {me}, [{row}, {e}], -{total}, op=0)
"""
REST = "pl.max({count} - @at, 0)"


def allreduce(count: int, ranks: int, chunk: int) -> str:
    """Template of an allreduce of `count` elements between `ranks` ranks, at most `chunk` of a segment at a time."""
    rounds = -(-_segment(count, ranks) // chunk)
    scatter = """
for {step_rs} in pl.range({steps}):
    {next_rs}: pl.Scalar[pl.INDEX] = {step_rs} + 1
    {idx_rs}: pl.Scalar[pl.INDEX] = ({here} - {next_rs} - 1 + {n}) % {n}
"""
    gather = """
for {step_ag} in pl.range({steps}):
    {next_ag}: pl.Scalar[pl.INDEX] = {step_ag} + 1
    {row_ag}: pl.Scalar[pl.INDEX] = {step_ag} + {steps}
    {idx_ag}: pl.Scalar[pl.INDEX] = ({here} - {next_ag} + {n}) % {n}
"""
    scatter += indented(_phase("_rs", "{step_rs}", REDUCED, count, ranks, chunk, rounds))
    gather += indented(_phase("_ag", "{row_ag}", TAKEN, count, ranks, chunk, rounds))
    end = EPILOGUE.replace("@credits", str(2 * rounds)).replace("@rows", str(2 * (ranks - 1)))
    return (SETUP + HEAD + FLAT + STEPS + scatter + gather + end).replace("{chunk}", str(chunk))


def chunk_of(count: int, ranks: int, size: int, most: int) -> int:
    """Elements of `size` bytes in a tile: the longest segment, in whole 32 bytes, at most `most` bytes."""
    return min(-(-_segment(count, ranks) * size // 32) * 32, most) // size


def _segment(count: int, ranks: int) -> int:
    return -(-count // ranks)


def _phase(phase: str, row: str, combined: str, count: int, ranks: int, chunk: int, rounds: int) -> str:
    """One step of a phase: its segment, and for each chunk of it a meeting, a read, a meeting and a write."""
    whole = _segment(count, ranks)
    if count % ranks == 0:
        begin, end = f"{{idx@}} * {whole}", f"{{idx@}} * {whole} + {whole}"
    else:
        begin, end = f"{{idx@}} * {count} // {ranks}", f"({{idx@}} + 1) * {count} // {ranks}"
    one = MEETING.replace("@}", "@_ready}").replace("@credits", "@first")
    one += READ.replace("@combined", combined)
    one += MEETING.replace("@}", "@_read}").replace("@credits", "@second") + WRITTEN
    one = one.replace("@rest", REST)
    if rounds == 1:
        known = {"@off": "0", "@at": "{begin@}", "@valid": f"pl.min({{cols@}}, {chunk})", "@first": "1", "@second": "2"}
        body = _filled(one, known)
    else:
        known = {
            "@off": "{off@}",
            "@at": "({begin@} + {off@})",
            "@valid": f"pl.min({{cols@}} - {{off@}}, {chunk})",
            "@first": f"{{off@}} // {chunk} * 2 + 1",
            "@second": f"{{off@}} // {chunk} * 2 + 2",
        }
        body = f"\nfor {{off@}} in pl.range(0, {whole}, {chunk}):\n{indented(_filled(one, known))}"
    segment = SEGMENT.replace("@begin", begin).replace("@end", end)
    return (segment + body).replace("@row", row).replace("@", phase)


def _filled(template: str, known: dict[str, str]) -> str:
    for word, text in known.items():
        template = template.replace(word, text)
    return template
