"""A component is its own configuration: a frozen dataclass with a short name and a text form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, ClassVar

_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_]*|\d+(\.\d+)?[A-Za-z]+|\d+")  # words and sizes


class Component:
    """`TopK(0.01)` is `topk(0.01)` in text: its main number, and what differs from the defaults."""

    name: ClassVar[str]
    folder: ClassVar[str]
    paper: ClassVar[str] = ""  # key into laconic/papers.py
    spelled: ClassVar[Mapping[str, str]] = {}  # fields whose word in plan texts is not their name

    def __str__(self) -> str:
        words = [w for w in (_argument(self, f, i) for i, f in enumerate(_fields(self))) if w]
        return f"{self.name}({', '.join(words)})" if words else self.name

    def papers(self) -> tuple[str, ...]:
        """What a run with these settings uses."""
        return (self.paper,) if self.paper else ()

    @classmethod
    def summary(cls) -> str:
        """The first line of the class docstring."""
        return (cls.__doc__ or "").strip().splitlines()[0]


def _fields(component: Component) -> tuple[Field[Any], ...]:
    return fields(component)  # type: ignore[arg-type]  # every concrete component is a dataclass


def is_default(field: Field[Any], value: object) -> bool:
    return field.default is not MISSING and value == field.default


def _argument(component: Component, field: Field[Any], position: int) -> str:
    value = getattr(component, field.name)
    main = position == 0 and isinstance(value, int | float)
    if is_default(field, value) and not main:
        return ""
    text = value_text(value)
    return text if position == 0 else f"{component.spelled.get(field.name, field.name)}={text}"


def value_text(value: object) -> str:
    """As the plan grammar writes it; floats are exact (`repr`), strings are quoted where they must be."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, str) and not _BARE.fullmatch(value):
        return f'"{value}"' if "'" in value else f"'{value}'"  # the grammar knows no escapes
    return str(value) if isinstance(value, str | Component) else repr(value)
