"""The grammar of plan texts: trees with places, and errors that point."""

from __future__ import annotations

import pytest

from laconic.core import grammar
from laconic.core.errors import PlanError
from laconic.core.grammar import Call, Piped, Value


def test_a_bare_word_is_a_call_without_arguments():
    assert grammar.parse("none") == [Call("none", (), 0)]
    assert grammar.parse(" none() ") == [Call("none", (), 1)]


def test_parts_and_their_places():
    first, second = grammar.parse("local(8) / none")
    assert (first.start, second.start) == (0, 11)


def test_arguments_by_place_and_by_name():
    (call,) = grammar.parse("qsgd(4, block=64, norm='l2')")
    assert isinstance(call, Call)
    assert [key for key, _ in call.args] == [None, "block", "norm"]
    assert [node.value for _, node in call.args if isinstance(node, Value)] == [4, 64, "l2"]


def test_a_pipe_inside_an_argument():
    (call,) = grammar.parse("ef(topk(0.01) | qsgd(4))")
    assert isinstance(call, Call)
    ((_, inner),) = call.args
    assert isinstance(inner, Piped)
    assert [stage.name for stage in inner.stages] == ["topk", "qsgd"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("0.25", 0.25), ("1e-3", 0.001), ("5.", 5.0), ("1/64", 1 / 64), ("2E2", 200.0)],
)
def test_numbers(text: str, value: float):
    (call,) = grammar.parse(f"f({text})")
    assert isinstance(call, Call)
    ((_, node),) = call.args
    assert isinstance(node, Value)
    assert node.value == value
    assert type(node.value) is type(value)


@pytest.mark.parametrize("text", ["25MiB", "1.5MiB", "x_y", "ddp+bf16", "1x.5"])
def test_bare_words_may_hold_digits_and_dots(text: str):
    (call,) = grammar.parse(f"f({text})")
    assert isinstance(call, Call)
    assert call.args == ((None, Call(text, (), 2)),)


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("topk(0.01", 9, "expected ',' or ')', the text ends here"),
        ("topk(0.01))", 10, "expected '/', '|' or the end, got ')'"),
        ("topk 0.01", 5, "expected '/', '|' or the end, got '0.01'"),
        ("/ none", 0, "expected the name of an algorithm, got '/'"),
        ("none /", 6, "expected the name of an algorithm, the text ends here"),
        ("topk(0.1) |", 11, "expected the name of an algorithm, the text ends here"),
        ("0.01", 0, "expected the name of an algorithm, got '0.01'"),
        ("topk(0.1 0.2)", 9, "expected ',' or ')', got '0.2'"),
        ("topk(1/0)", 7, "a number other than 0"),
        ("topk(1/x)", 7, "a number other than 0"),
        ("topk(@)", 5, "'@' has no meaning here"),
        ("qsgd(norm='l2)", 10, '"\'" has no meaning here'),
        ("topk(ratio=)", 11, "expected the name of an algorithm, got ')'"),
        ("topk(,)", 5, "expected the name of an algorithm, got ','"),
    ],
)
def test_an_error_points_at_its_place(text: str, place: int, problem: str):
    with pytest.raises(PlanError) as caught:
        grammar.parse(text)
    sentence, shown, marker = str(caught.value).split("\n")
    assert problem in sentence
    assert shown == f"    {text}"
    assert marker.index("^") == 4 + place


def test_near_names_come_first_and_all_are_listed():
    text = grammar.near("tpok", ["topk", "qsgd", "randomk"])
    assert text.startswith(" Did you mean topk")
    assert text.endswith("Known: qsgd, randomk, topk.")


def test_nothing_near_is_guessed_from_nonsense():
    assert grammar.near("zzzzzz", ["topk", "qsgd"]) == " Known: qsgd, topk."
