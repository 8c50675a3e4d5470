"""Attributes the text may carry: names in braces, and the `#pto…` and `<PIPE_…>` values.

Sources: control-and-scalars.md §1, cross-core.md §2–5, ops-compute.md, distributed.md."""

from __future__ import annotations

from pypto_rw.verifier.tokens import Token

_NAMES = frozenset(
    {
        *("name", "size", "location", "auto", "base", "peer_func"),
        *("id", "dir_mask", "slot_size", "slot_num", "local_slot_num", "split", "ffts_mode"),
        *("layout", "rmode", "cmpMode", "maskPattern", "isBinary", "exhausted", "offset", "descending", "rounds"),
        *(
            "upperOrLower",
            "satmode",
            "precisionType",
            "accPhase",
            "coalesce",
            "gatherOob",
            "atomicType",
            "notifyOp",
            "cmp",
            "pto.kernel_kind",
        ),
    }
)
_BARE = frozenset({"pto.entry"})  # names that stand alone
_VALUES: dict[str, frozenset[str]] = {  # empty: any word
    "kernel_kind": frozenset({"cube", "vector"}),
    "layout": frozenset({"nd", "dn", "nz", "mx_a_zz", "mx_b_nn"}),
    "address_space": frozenset({"gm", "vec", "mat", "undefined"}),
    "sync_all_mode": frozenset({"hard", "soft"}),
    "sync_core_type": frozenset({"mix", "aiv_only", "aic_only"}),
    "fence_scope": frozenset({"gm"}),
    "cmp": frozenset({"eq", "ne", "lt", "le", "gt", "ge"}),
    "wait_cmp": frozenset({"eq", "ne", "lt", "le", "gt", "ge"}),
    "coalesce": frozenset({"row", "elem"}),
    "notify_op": frozenset({"atomic_add", "set"}),
    "saturation_mode": frozenset({"ON", "OFF"}),
    **dict.fromkeys(
        [f"{op}_precision" for op in ("div", "log", "recip", "rsqrt", "sqrt", "exp")],
        frozenset({"high_precision"}),
    ),
    **dict.fromkeys(("mask_pattern", "round_mode", "atomic_type", "acc_phase", "gather_oob"), frozenset()),
}
_PIPES = frozenset(f"<PIPE_{p}>" for p in ("MTE1", "MTE2", "MTE3", "M", "V", "S", "FIX", "ALL"))


def known_attribute(text: str) -> bool:
    """Whether `text` is a pipe, `#pto.KIND<VALUE>` or `#pto<KIND VALUE>` of the table."""
    if text.startswith("<"):
        return text in _PIPES
    head, _, body = text.removesuffix(">").partition("<")
    kind, value = body.partition(" ")[::2] if head == "#pto" else (head.removeprefix("#pto."), body)
    return kind in _VALUES and bool(value) and (not _VALUES[kind] or value in _VALUES[kind])


def wrong_attribute(tokens: list[Token]) -> Token | None:
    """The first token of `NAME = VALUE, …` that is out of place; None if all are right."""
    at = 0
    while at < len(tokens):
        name = tokens[at]
        if name.text in _BARE and (at + 1 == len(tokens) or tokens[at + 1].text == ","):
            at += 2
            continue
        if name.kind != "word" or name.text not in _NAMES:
            return name
        if at + 2 >= len(tokens) or tokens[at + 1].text != "=":
            return tokens[min(at + 1, len(tokens) - 1)]
        value = tokens[at + 2]
        if not (
            value.kind in ("number", "string", "symbol")
            or value.text in ("true", "false")
            or (value.kind == "head" and known_attribute(value.text))
        ):
            return value
        at += 3
        if value.kind == "number" and at + 1 < len(tokens) and tokens[at].text == ":":
            if tokens[at + 1].text != "i32":
                return tokens[at + 1]
            at += 2
        if at < len(tokens):
            if tokens[at].text != "," or at + 1 == len(tokens):
                return tokens[at]
            at += 1
    return None
