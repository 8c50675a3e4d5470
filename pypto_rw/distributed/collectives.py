"""Collectives over the ranks of a window, as statements of the language: what `pld.tensor.<name>` is in a kernel.

A template is text with names in braces: `{w}` the window, `{bell}` the signal (INT32 `[ranks, 1]`, zero between calls),
`{c} {n} {me}` its context, the ranks and this rank; other names are local. `barrier` and `epilogue` are shared parts:
the k-th barrier of a call waits for k, the epilogue takes all credits back. Source: distributed.md §8.
"""

from __future__ import annotations

SETUP = """
{c}: pld.CommCtxType = pld.system.get_comm_ctx({w})
{ranks}: pl.Scalar[pl.INT32] = pld.system.nranks({c})
{n}: pl.Scalar[pl.INDEX] = pl.cast({ranks}, pl.INDEX)
{me}: pl.Scalar[pl.INT32] = pld.system.rank({c})
"""
BARRIER = """
for {p@} in pl.range({n}):
    if {p@} != pl.cast({me}, pl.INDEX):
        pld.system.notify({bell}, {p@}, [{me}, 0], pl.const(1, pl.INT32), op=0)
for {s@} in pl.range({n}):
    if {s@} != pl.cast({me}, pl.INDEX):
        pld.system.wait({bell}, [{s@}, 0], @credits, cmp=1)
"""
EPILOGUE = """
for {e} in pl.range({n}):
    if {e} != pl.cast({me}, pl.INDEX):
        pld.system.notify({bell}, {me}, [{e}, 0], @credits, op=0)
"""
STAGE = "\n{stage} = pl.tile.create([{rows}, {cols}], dtype=pl.{dtype}, target_memory=pl.Mem.Vec)\n"
SEND = """
for {p} in pl.range({n}):
    pld.tile.put({w}, {p}, {x}, {stage}, [{me}, 0], [{from_row}, 0], [1, {cols}], atomic=pl.AtomicType.None_)
"""
REDUCE_SCATTER = """
{first} = pl.tile.load({w}, [{me}, 0], [1, {cols}], [1, {cols}], target_memory=pl.Mem.Vec)
for {p}, ({acc},) in pl.range({n}, init_values=({first},)):
    if {p} != pl.cast({me}, pl.INDEX):
        {got} = pld.tile.remote_load({w}, {p}, [{me}, 0], [1, {cols}])
        {sum} = pl.tile.{reduce}({acc}, {got})
        {kept} = pl.yield_({sum})
    else:
        {kept} = pl.yield_({acc})
    {total} = pl.yield_({kept})
"""
FLAT = "\n{flat} = pl.tensor.view({w}, [1, {count}])\n"
# one chunk of an allreduce: {col} its first element, {valid} how many there are, {chunk} the tile's columns
ALLREDUCE = """
{loaded} = pl.tile.load({flat}, [0, {col}], [1, {chunk}], [1, {valid}], target_memory=pl.Mem.Vec)
{first} = pl.tile.fillpad_inplace({loaded}, pad_value=pl.PadValue.zero)
for {p}, ({acc},) in pl.range({n}, init_values=({first},)):
    if {p} != pl.cast({me}, pl.INDEX):
        {received}
        {filled} = pl.tile.fillpad_inplace({got}, pad_value=pl.PadValue.zero)
        {sum} = pl.tile.{reduce}({acc}, {filled})
        {kept} = pl.yield_({sum})
    else:
        {kept} = pl.yield_({acc})
    {total} = pl.yield_({kept})
{round}: pl.Scalar[pl.INT32] = pl.cast({expected}, pl.INT32)
"""
RECEIVED = "{got} = pld.tile.remote_load({flat}, {p}, [0, {col}], [1, {chunk}], [1, {valid}])"
PADDED = "pld.tile._remote_load_with_physical_tail_padding"
RECEIVED_TAIL = f"""{{tail}} = {PADDED}({{flat}}, {{p}}, [0, {{col}}], [1, {{chunk}}], [1, {{chunk}}])
        {{got}} = pl.tile.set_validshape({{tail}}, 1, {{valid}})"""
ALLREDUCE_STORE = """
{cut} = pl.tile.set_validshape({total}, 1, {valid})
{stored} = pl.tile.store({cut}, [0, {col}], {flat})
"""
REDUCE = {0: "add", 1: "maximum", 2: "minimum", 3: "mul"}
CHUNK = 16384  # bytes of an allreduce's tiles


def barrier(number: int, credits: str | None = None) -> str:
    """The barrier `number` of a call; `credits`: what its waits expect, where it is no constant."""
    expected = credits or f"pl.const({number}, pl.INT32)"
    return BARRIER.replace("@credits", expected).replace("@", str(number))


def epilogue(count: int, credits: str | None = None) -> str:
    """The end of a call with `count` barriers; `credits`: a value to take back instead, where it is no constant."""
    return EPILOGUE.replace("@credits", credits or f"pl.const({-count}, pl.INT32)")


def indented(text: str) -> str:
    """A part of a template, one block deeper."""
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())


def allreduce(count: int, chunk: int, padded: bool) -> str:
    """Template of an allreduce of `count` elements, `chunk` at a time; `padded`: remote reads may pass the end."""
    received = RECEIVED_TAIL if padded else RECEIVED
    one = ALLREDUCE.replace("{received}", received) + barrier(2, "{round}") + ALLREDUCE_STORE
    rounds = -(-count // chunk)
    if rounds == 1:
        body = one.replace("{col}", "0").replace("{valid}", str(count)).replace("{expected}", "2")
    else:
        valid = f"pl.min({count} - {{col}}, {chunk})"
        body = one.replace("{valid}", valid).replace("{expected}", f"{{col}} // {chunk} + 2")
        body = f"\nfor {{col}} in pl.range(0, {count}, {chunk}):\n{indented(body)}"
    credit = f"{{credit}}: pl.Scalar[pl.INT32] = pl.cast({1 + rounds}, pl.INT32)\n"
    return SETUP + FLAT + barrier(1) + body.replace("{chunk}", str(chunk)) + credit + epilogue(0, "-{credit}")
