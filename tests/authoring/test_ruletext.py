"""The forms of a rule file's text: parts, places, what is unbalanced, rules blanked out or set apart."""

from __future__ import annotations

import pytest

from pypto_rw.rewriting import ruletext

TEXT = """\
; a remark with ( and "
(relation near (Op i64)) (near-fact "a;b" 1)
(rule ((= op (call "tile.x" args r)) (near op 1))
      ((near op 2)) :ruleset facts :name "tile.x/one")
(rewrite (lower (twice a)) (lower a) :when ((near a 1)) :ruleset lowering :name "tile.x/two")
"""


def test_forms_and_their_places() -> None:
    forms = ruletext.forms(TEXT)
    assert [f.head for f in forms] == ["relation", "near-fact", "rule", "rewrite"]
    assert [ruletext.line_of(TEXT, f.start) for f in forms] == [2, 2, 3, 5]
    assert all(TEXT[f.start : f.end] == f.text for f in forms)
    assert forms[1].parts[1].text == '"a;b"'


def test_rules_and_their_conditions() -> None:
    first, second = ruletext.rules(TEXT)
    assert (first.name, first.ruleset, first.line) == ("tile.x/one", "facts", 3)
    assert [c.text for c in first.conditions] == ['(= op (call "tile.x" args r))', "(near op 1)"]
    assert (second.name, second.ruleset, second.line) == ("tile.x/two", "lowering", 5)
    assert [c.text for c in second.conditions] == ["(= rewritten (lower (twice a)))", "(near a 1)"]


def test_a_rule_is_blanked_out_and_the_others_keep_their_places() -> None:
    left = ruletext.without(TEXT, frozenset({"tile.x/one"}))
    assert len(left) == len(TEXT) and left.count("\n") == TEXT.count("\n")
    assert [(r.name, r.line) for r in ruletext.rules(left)] == [("tile.x/two", 5)]


def test_rules_are_set_apart() -> None:
    text, moved = ruletext.one_by_one(TEXT, 7)
    assert moved == [("facts", "facts--7"), ("lowering", "lowering--8")]
    assert [r.ruleset for r in ruletext.rules(text)] == ["facts--7", "lowering--8"]
    assert [f.text for f in ruletext.forms(text) if f.head == "ruleset"] == [
        "(ruleset facts--7)",
        "(ruleset lowering--8)",
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("(a b)\n(c (d)\n(e)\n", 2, "this form lacks a closing parenthesis"),
        ("(a b)\n(c (d)\n", 2, "this form lacks a closing parenthesis"),
        ("(a b)\n(c))\n", 2, "a closing parenthesis closes nothing"),
        ('(a b)\n(c "d)\n(e)\n', 2, "this string is not closed"),
    ],
)
def test_what_is_not_balanced(text: str, line: int, message: str) -> None:
    with pytest.raises(ruletext.Unbalanced) as caught:
        ruletext.forms(text)
    assert (caught.value.line, str(caught.value)) == (line, message)
