"""The grammar of plan texts: text -> tree, every node with its place, every error pointing at one.

    plan  = part { "/" part }                    part = call { "|" call }
    call  = name [ "(" [ arg { "," arg } ] ")" ]  arg  = [ name "=" ] ( part | number | string )

A number may be a fraction (1/64); a string is quoted or a bare word such as 25MiB.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from laconic.core.errors import PlanError

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))|(?P<word>[A-Za-z0-9_.+-]+)"
    r"|(?P<string>'[^']*'|\"[^\"]*\")|(?P<mark>[()/|,=])|(?P<bad>\S))"
)


LONGEST = 2000  # characters of a text
DEEPEST = 40  # parentheses inside each other
LONGEST_NUMBER = 30


class Token(NamedTuple):
    kind: str  # number, word, string, mark, end
    text: str
    start: int


@dataclass(frozen=True)
class Value:
    """A number or a quoted string."""

    value: float | int | str
    start: int


@dataclass(frozen=True)
class Call:
    """A name with arguments; a bare word is a call without any."""

    name: str
    args: tuple[tuple[str | None, Node], ...]
    start: int


@dataclass(frozen=True)
class Piped:
    """a | b | c, as written."""

    stages: tuple[Call, ...]
    start: int


Node = Value | Call | Piped


def point(text: str, start: int, length: int, problem: str) -> PlanError:
    """An error that shows the text and marks the place."""
    return PlanError(f"Plan: {problem}\n    {text}\n    {' ' * start}{'^' * max(1, length)}")


def near(word: str, known: Iterable[str]) -> str:
    """` Did you mean ...? Known: ...` with the close ones first."""
    names = sorted(known)
    close = difflib.get_close_matches(word.lower(), names, n=3, cutoff=0.5)
    guess = f" Did you mean {' or '.join(close)}?" if close else ""
    return f"{guess} Known: {', '.join(names)}."


def parse(text: str) -> list[Call | Piped]:
    """The parts of a plan text."""
    if not isinstance(text, str):
        raise PlanError(f"Plan: expected a text, got {text!r}.")
    if len(text) > LONGEST:
        raise PlanError(f"Plan: a text of {len(text)} characters; at most {LONGEST} are read.")
    return _Parser(text).plan()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [*_tokens(text), Token("end", "", len(text.rstrip()))]
        self.at = 0
        self.depth = 0

    def plan(self) -> list[Call | Piped]:
        parts = [self._part()]
        while self._take("/"):
            parts.append(self._part())
        if self._peek().kind != "end":
            raise self._unexpected("expected '/', '|' or the end")
        return parts

    def _part(self) -> Call | Piped:
        first = self._call()
        stages = [first]
        while self._take("|"):
            stages.append(self._call())
        return first if len(stages) == 1 else Piped(tuple(stages), first.start)

    def _call(self) -> Call:
        token = self._peek()
        if token.kind != "word":
            raise self._unexpected("expected the name of an algorithm")
        self.at += 1
        args: list[tuple[str | None, Node]] = []
        if self._take("("):
            self.depth += 1
            if self.depth > DEEPEST:
                raise self._unexpected(f"more than {DEEPEST} parentheses inside each other")
            while not self._take(")"):
                args.append(self._argument())
                if self._peek().text not in (",", ")"):
                    raise self._unexpected("expected ',' or ')'")
                self._take(",")
            self.depth -= 1
        return Call(token.text, tuple(args), token.start)

    def _argument(self) -> tuple[str | None, Node]:
        key = None
        if self._peek().kind == "word" and self.tokens[self.at + 1].text == "=":
            key, self.at = self._peek().text, self.at + 2
        token = self._peek()
        if token.kind == "number":
            self.at += 1
            value = _number(token.text)
            if self._take("/"):
                below = self._peek()
                if below.kind != "number" or float(below.text) == 0:
                    raise self._unexpected("expected a number other than 0 below the fraction bar")
                self.at += 1
                value = value / _number(below.text)
            return key, Value(value, token.start)
        if token.kind == "string":
            self.at += 1
            return key, Value(token.text[1:-1], token.start)
        return key, self._part()

    def _peek(self) -> Token:
        return self.tokens[self.at]

    def _take(self, mark: str) -> bool:
        if self._peek().kind == "mark" and self._peek().text == mark:
            self.at += 1
            return True
        return False

    def _unexpected(self, problem: str) -> PlanError:
        token = self._peek()
        seen = f"got {token.text!r}" if token.text else "the text ends here"
        return point(self.text, token.start, len(token.text), f"{problem}, {seen}.")


def _tokens(text: str) -> list[Token]:
    out, at = [], 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        assert found is not None, "the last alternative takes any character"
        kind = str(found.lastgroup)
        if kind == "bad":
            start = found.start("bad")
            raise point(text, start, 1, f"{found['bad']!r} has no meaning here.")
        if kind == "number" and len(found[kind]) > LONGEST_NUMBER:
            raise point(text, found.start(kind), 1, f"a number of more than {LONGEST_NUMBER} characters.")
        out.append(Token(kind, found[kind], found.start(kind)))
        at = found.end()
    return out


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("+-").isdigit() else float(text)
