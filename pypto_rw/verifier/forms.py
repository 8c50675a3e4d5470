"""One line form per op, and the reader of a form.

A form is a row of space-separated parts:

    word   this very token            `%a` a value          `%a:index` a value of that type
    `%a*`  values, comma-separated    `!abr` one type, of every value of groups a, b and of the results r
    `!a*`  one type per value of a    `{}` attributes in braces   `#` an attribute, `<…>` one in angles
    `NUM` a number, `NUM*` numbers    `WORD`, `STR`, `SYM` such a token      `(? … ?)` may be absent
    `^i`   a name that the region binds   `^k=%n*` names bound to values      `^b:*` names with types
    `!R*`  the types of all results       `!B*` the types of the names that the region binds
    `!D`   the type a function returns

The group letter of a value tells the other checks what it is. `=` in front of a type gives the type of the
results without printing it. Sources: types-and-memory.md, control-and-scalars.md, cross-core.md, ops-*.yaml."""

from __future__ import annotations

from pypto_rw.records import dataclass, field
from pypto_rw.verifier.attributes import known_attribute, wrong_attribute
from pypto_rw.verifier.tokens import Token

_CONST = "NUM : !r", "ANY : !r"
_BINARY = "%a , %b : !abr"
_CAST = "%a : !a to !r"
_COMPARE = "WORD , %a , %b : !ab =i1"
_PIPE = ("{} (? ( (? gm_slot_buffer = %g : !g , ?) c2v_consumer_buf = %c : !c , v2c_consumer_buf = %v : !v ) ?)",)
_POP = ("(? ( %m:index , %n:index ) ?) {} -> !r",)
_TRANSFER = ("( %d , %s , buf ( %t* ) : !d , !s , !t* ) (? {} ?)",)
_SIGNAL = ("( %d , %v : !d , !v ) {}",)
_EVENT = ("# , NUM (? {} ?)", "# , %e:index (? {} ?)")
_DPS = ("ins ( %i* (? {} ?) : !i* ) outs ( %o* : !o* ) (? {} ?)",)


def _names(row: str) -> list[str]:
    """The names of a space-separated row."""
    return row.split()


FORMS: dict[str, tuple[str, ...]] = {
    "module": ("attributes { pto.target_arch = STR } {",),
    "func.func": ("SYM ( (? ^b:* ?) ) (? -> !D ?) (? attributes {} ?) {", "WORD SYM ( (? !B* ?) )"),
    "scf.for": (
        "^i = %l:index to %u:index step %s:index (? iter_args ( ^k=%n* ) -> ( !R* ) ?) {",
        "^i = %l to %u step %s (? iter_args ( ^k=%n* ) -> ( !R* ) ?) : !lus {",
    ),
    "scf.if": ("%c:i1 (? -> ( !R* ) ?) {",),
    "scf.while": ("(? ( ^k=%n* ) ?) : ( (? !B* ?) ) -> ( (? !R* ?) ) {",),
    "^bb0": ("( ^b:* ) :",),
    "scf.yield": ("(? %a* : !a* ?)",),
    "scf.condition": ("( %c:i1 ) (? %a* : !a* ?)",),
    "return": ("(? %a* : !a* ?)",),
    "arith.constant": _CONST,
    **{
        f"arith.{n}": (_BINARY,)
        for n in _names("""
            addi subi muli divsi divui remsi remui ceildivsi ceildivui floordivsi minsi maxsi minui maxui andi ori xori
        """)
    },
    **{
        f"arith.{n}": (_BINARY,)
        for n in _names("shli shrsi shrui addf subf mulf divf remf maximumf minimumf maxnumf minnumf")
    },
    **{
        f"arith.{n}": (_CAST,)
        for n in _names("""
            index_cast index_castui extsi extui trunci sitofp uitofp fptosi fptoui extf truncf bitcast
        """)
    },
    **dict.fromkeys(
        ("arith.negf", *(f"math.{n}" for n in _names("absf absi exp sqrt rsqrt log sin cos tanh floor ceil erf"))),
        ("%a : !ar",),
    ),
    "math.powf": (_BINARY,),
    "arith.cmpi": (_COMPARE,),
    "arith.cmpf": (_COMPARE,),
    "arith.select": ("%c:i1 , %a , %b : !abr",),
    "builtin.unrealized_conversion_cast": (_CAST,),
    "func.call": ("SYM ( %a* ) : ( !a* ) -> ( )",),
    "pto.alloc_tile": ("(? addr = %p:i64 ?) (? valid_row = %m:index ?) (? valid_col = %n:index ?) : !r",),
    "pto.alloc_multi_tile": ("(? addr = %p:i64 ?) (? valid_row = %m:index ?) (? valid_col = %n:index ?) : !r",),
    "pto.multi_tile_get": ("%a [ %x:index ] : !a -> !r",),
    "pto.make_tensor_view": ("%a , shape = [ %d*:index ] , strides = [ %t*:index ] { layout = # } : !r",),
    "pto.partition_view": ("%a , offsets = [ %o*:index ] , sizes = [ %s*:index ] : !a -> !r",),
    "pto.subview": ("%a [ %o*:index ] sizes [ NUM* ] (? valid [ %v*:index ] ?) : !a -> !r",),
    "pto.treshape": ("%a : !a -> !r",),
    "pto.set_validshape": ("%a , %m:index , %n:index : !a",),
    "pto.load_scalar": ("%a [ %x:index ] : !a -> !r",),
    "pto.store_scalar": ("%v , %a [ %x:index ] : !a , !v",),
    "pto.addptr": ("%a , %x:index : !a -> !r",),
    "pto.declare_local_array": ("-> !r",),
    "pto.local_array_get": ("%a [ %x:index ] : !a -> !r",),
    "pto.local_array_set": ("%a [ %x:index ] , %v : !a , !v",),
    "pto.tgetval": ("ins ( %i , %x:index : !i , index ) outs : !r",),
    "pto.tsetval": ("ins ( %x:index , %v : index , !v ) outs ( %o : !o )",),
    "pto.reserve_buffer": ("{} -> !r",),
    "pto.import_reserved_buffer": ("{} -> !r",),
    "pto.aic_initialize_pipe": _PIPE,
    "pto.aiv_initialize_pipe": _PIPE,
    "pto.tpop_from_aic": _POP,
    "pto.tpop_from_aiv": _POP,
    "pto.tpush_to_aic": ("( %i : !i ) {}",),
    "pto.tpush_to_aiv": ("( %i : !i ) {}",),
    "pto.tfree_from_aic": ("{}",),
    "pto.tfree_from_aiv": ("{}",),
    "pto.barrier": ("#",),
    "pto.fence.barrier_all": ("#",),
    "pto.cmo.cacheinvalid": ("%a single_cache_line : !a", "all #"),
    "pto.comm.tget": _TRANSFER,
    "pto.comm.tput": _TRANSFER,
    "pto.comm.tnotify": _SIGNAL,
    "pto.comm.twait": _SIGNAL,
    "pto.comm.wait_async_event": ("( %a , %b : !a , !b ) -> !r",),
    "pto.get_prefetch_async_session": ("%a : !a -> !r",),
    "pto.make_prefetch_async_context": ("( %a : !a ) -> !r",),
    "pto.tprefetch_async": ("( %a , %b : !a , !b ) -> !r",),
    "pto.set_ffts": ("%a : !a",),
    "pto.sync.set": _EVENT,
    "pto.sync.wait": _EVENT,
    "pto.syncall": ("( (? %a* : !a* ?) ) mode = # , core_type = #",),
    **dict.fromkeys(("pto.tgather", "pto.tscatter"), (*_DPS, "ins ( %i , {} : !i , STR ) outs ( %o : !o )")),
    '"pto.ttri"': ("( %v:i32 , %o ) {} : ( i32 , !o ) -> ( )",),
    '"pto.trandom"': ("( %i* ) {} : ( !i* ) -> ( )",),
    **{
        f"pto.{n}": _DPS
        for n in _names("""
            mgather mscatter tabs tadd taddc tadds taddsc tand tands tci tcmp tcmps tcolargmax
            tcolargmin tcolexpand tcolexpandadd tcolexpanddiv tcolexpandexpdif tcolexpandmax
            tcolexpandmin tcolexpandmul tcolexpandsub tcolmax tcolmin tcolprod tcolsum tconcat tcvt
            tdiv tdivs texp texpands textract tfillpad tfillpad_expand tfillpad_inplace tfmod tfmods tgatherb tgemv
            tgemv.acc tgemv.bias tget_scale_addr tinsert tload tlog tlrelu tmatmul tmatmul.acc
            tmatmul.bias tmatmul.mx tmatmul.mx.acc tmatmul.mx.bias tmax tmaxs tmin tmins tmov
            tmrgsort tmul tmuls tneg tnot tor tors tpartadd tpartmax tpartmin tpartmul tprelu
            trandom trecip trelu trem trems trowargmax trowargmin trowexpand trowexpandadd
            trowexpanddiv trowexpandexpdif trowexpandmax trowexpandmin trowexpandmul trowexpandsub
            trowmax trowmin trowprod trowsum trsqrt ttri tsel tsels tshl tshls tshr tshrs
            tsort32 tsqrt tstore tsub tsubc tsubs tsubsc ttrans txor txors
        """)
    },
}
OPERAND_KIND: dict[str, tuple[str, str]] = {  # what an op takes as group `a`, and what it gives
    **{
        f"arith.{n}": ("int", "int")
        for n in _names("""
            addi subi muli divsi divui remsi remui ceildivsi ceildivui floordivsi minsi maxsi minui maxui andi ori
        """)
    },
    **{
        f"arith.{n}": ("int", "int") for n in _names("xori shli shrsi shrui extsi extui trunci index_cast index_castui")
    },
    **{
        f"arith.{n}": ("float", "float")
        for n in _names("addf subf mulf divf remf maximumf minimumf maxnumf minnumf negf extf truncf")
    },
    "arith.cmpi": ("int", "any"),
    "arith.cmpf": ("float", "any"),
    "arith.sitofp": ("int", "float"),
    "arith.uitofp": ("int", "float"),
    "arith.fptosi": ("float", "int"),
    "arith.fptoui": ("float", "int"),
    "math.absf": ("float", "float"),
    "math.absi": ("int", "int"),
    "builtin.unrealized_conversion_cast": ("int", "int"),
    "pto.alloc_tile": ("any", "tile"),
    "pto.alloc_multi_tile": ("any", "regions"),
    "pto.multi_tile_get": ("regions", "tile"),
    "pto.make_tensor_view": ("ptr", "tensor_view"),
    "pto.partition_view": ("tensor_view", "partition_tensor_view"),
    "pto.subview": ("tile", "tile"),
    "pto.treshape": ("tile", "tile"),
    "pto.set_validshape": ("tile", "any"),
    "pto.load_scalar": ("ptr", "any"),
    "pto.store_scalar": ("ptr", "any"),
    "pto.addptr": ("ptr", "ptr"),
    "pto.declare_local_array": ("any", "local_array"),
    "pto.local_array_get": ("local_array", "int"),
    "pto.local_array_set": ("local_array", "any"),
    "pto.tpop_from_aic": ("any", "tile"),
    "pto.tpop_from_aiv": ("any", "tile"),
}
_TYPE_KINDS = frozenset({"head", "word", "typed", "angle"})


@dataclass(slots=True)
class Use:
    """A value where it is used: its name, the group of the form it stands in, the type printed for it if any."""

    token: Token
    group: str
    type: str = ""


@dataclass(slots=True)
class Read:
    """What a form found on a line."""

    uses: list[Use] = field(default_factory=list)
    types: list[Token] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    bound: list[tuple[Token, str]] = field(default_factory=list)
    bound_types: list[str] = field(default_factory=list)

    def group(self, name: str) -> list[Use]:
        """The uses of one group, in order."""
        return [u for u in self.uses if u.group == name]


class Mismatch(Exception):
    """The line does not have this form: at `position`, `wanted` was expected."""

    def __init__(self, position: int, wanted: str) -> None:
        super().__init__(wanted)
        self.position = position
        self.wanted = wanted


def read_form(name: str, line: list[Token], start: int) -> Read:
    """`line` from `start` on, read as one of the forms of op `name`; Mismatch with the farthest failure."""
    farthest = Mismatch(-1, "")
    for form in FORMS[name]:
        read = Read()
        try:
            end = _match(form.split(), line, start, read)
            if end != len(line):
                raise Mismatch(end, "the end of the line")
            return read
        except Mismatch as mismatch:
            if mismatch.position > farthest.position:
                farthest = mismatch
    raise farthest


def _match(parts: list[str], line: list[Token], at: int, read: Read) -> int:
    index = 0
    while index < len(parts):
        part = parts[index]
        if part == "(?":
            end = _optional_end(parts, index)
            if _starts(parts[index + 1], line, at):
                at = _match(parts[index + 1 : end], line, at, read)
            index = end + 1
            continue
        at = _part(part, line, at, read)
        index += 1
    return at


def _optional_end(parts: list[str], start: int) -> int:
    depth = 0
    for index in range(start, len(parts)):
        depth += (parts[index] == "(?") - (parts[index] == "?)")
        if depth == 0:
            return index
    raise AssertionError("a form closes its optional parts")


def _starts(part: str, line: list[Token], at: int) -> bool:
    if at >= len(line):
        return False
    token = line[at]
    if part == "{}":
        return token.text == "{"
    if part[0] == "!":
        return token.kind in _TYPE_KINDS
    return token.kind == "value" if part[0] in "%^" else token.text == part


def _part(part: str, line: list[Token], at: int, read: Read) -> int:
    if part == "{}":
        return _braces(line, at, read)
    if part[0] == "=" and len(part) > 1:
        read.results.append(part[1:])
        return at
    if part[0] == "^":
        return _bindings(part, line, at, read)
    if part[0] == "%":
        return _values(part, line, at, read)
    if part[0] == "!":
        return _types(part[1:], line, at, read)
    if part == "NUM*":
        at = _part("NUM", line, at, read)
        while _starts(",", line, at):
            at = _part("NUM", line, at + 1, read)
        return at
    token = line[at] if at < len(line) else None
    kinds = {"NUM": ("number",), "WORD": ("word",), "STR": ("string",), "SYM": ("symbol",), "#": ("head", "angle")}
    kinds["ANY"] = ("typed", "word")
    if part in kinds:
        if token is None or token.kind not in kinds[part]:
            wanted = {"NUM": "a number", "WORD": "a word", "STR": "a string", "SYM": "a function", "#": "an attribute"}
            raise Mismatch(at, wanted.get(part, "a literal"))
        if part == "#" and not known_attribute(token.text):
            raise Mismatch(at, "an attribute of this text")
        read.literals.append(token.text)
        return at + 1
    if token is None or token.text != part:
        raise Mismatch(at, f"`{part}`")
    return at + 1


def _values(part: str, line: list[Token], at: int, read: Read) -> int:
    name, _, fixed = part[1:].partition(":")
    many = name.endswith("*")
    group = name.rstrip("*")
    if many and not _starts("%", line, at):
        return at
    while True:
        if at >= len(line) or line[at].kind != "value":
            raise Mismatch(at, "a value")
        read.uses.append(Use(line[at], group, fixed))
        at += 1
        # `%x, {mask = …}` ends the values at the comma
        if not (many and _starts(",", line, at) and at + 1 < len(line) and line[at + 1].kind == "value"):
            return at
        at += 1


def _bindings(part: str, line: list[Token], at: int, read: Read) -> int:
    while True:
        if at >= len(line) or line[at].kind != "value":
            raise Mismatch(at, "a name")
        name, text = line[at], ""
        at += 1
        if part.endswith("=%n*"):
            at = _values("%n", line, _part("=", line, at, read), read)
        elif part.endswith(":*"):
            text, at = _type(line, _part(":", line, at, read), read)
        read.bound.append((name, text))
        if not (part.endswith("*") and _starts(",", line, at)):
            return at
        at += 1


def _types(groups: str, line: list[Token], at: int, read: Read) -> int:
    if groups in ("R*", "B*"):
        into = read.results if groups == "R*" else read.bound_types
        while True:
            text, at = _type(line, at, read)
            into.append(text)
            if not _starts(",", line, at):
                return at
            at += 1
    if groups.endswith("*"):
        uses = read.group(groups[0])
        for number, use in enumerate(uses):
            if number:
                at = _part(",", line, at, read)
            use.type, at = _type(line, at, read)
        return at
    text, at = _type(line, at, read)
    if groups == "D":  # the type a function returns
        read.literals.append(f"-> {text}")
        return at
    for group in groups:
        if group == "r":
            read.results.append(text)
        for use in read.group(group):
            use.type = text
    return at


def _type(line: list[Token], at: int, read: Read) -> tuple[str, int]:
    if at >= len(line) or line[at].kind not in _TYPE_KINDS:
        raise Mismatch(at, "a type")
    token = line[at]
    text = f"!pto.ptr{token.text}" if token.kind == "angle" else token.text  # `pto.addptr` shortens it
    read.types.append(token._replace(text=text))
    return text, at + 1


def _braces(line: list[Token], at: int, read: Read) -> int:
    start = at = _part("{", line, at, read)
    while at < len(line) and line[at].text != "}":
        at += 1
    wrong = wrong_attribute(line[start:at])
    if wrong is not None:
        raise Mismatch(line.index(wrong), "an attribute of this text")
    read.literals.extend(t.text for t in line[start:at])
    return _part("}", line, at, read)
