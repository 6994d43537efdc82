"""Citations of what a plan uses, as BibTeX; read from the one-line form of `papers.py`.

    Authors. Title. [Venue ]Year[. arXiv:ID]

Authors are surnames with commas between them, the last of which may be "et al"; a venue holds no full stop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields

from laconic.baseline import Baseline
from laconic.core.component import Component
from laconic.core.errors import UsageError
from laconic.papers import PAPERS
from laconic.plan import Plan

_LINE = re.compile(
    r"(?P<authors>[^.]+)\. (?P<title>.+)\. (?:(?P<venue>[^.]+) )?(?P<year>(?:19|20)\d\d)"
    r"(?:\. arXiv:(?P<arxiv>\d{4}\.\d{4,5}))?"
)
_JOURNAL = re.compile(
    r"IEEE Transactions|Proceedings of the IRE|JPDC|TNNLS|TPDS|CACM|VLDB|Parallel Computing|JMLR|TMLR|.*Journal"
)
_SPECIAL = re.compile(r"([%&#_$])")


@dataclass(frozen=True)
class Paper:
    key: str
    authors: tuple[str, ...]  # surnames
    more: bool  # and others
    title: str
    year: int
    venue: str = ""
    arxiv: str = ""

    @property
    def kind(self) -> str:
        if not self.venue:
            return "misc"
        return "article" if _JOURNAL.match(self.venue) else "inproceedings"

    def bibtex(self) -> str:
        place = {"article": "journal", "inproceedings": "booktitle"}.get(self.kind)
        entries = {
            "author": " and ".join([*map(_name, self.authors), *(["others"] if self.more else [])]),
            "title": f"{{{_escaped(self.title)}}}",  # a second pair of braces keeps capitals
            **({place: _escaped(self.venue)} if place else {}),
            "year": str(self.year),
            **({"eprint": self.arxiv, "archivePrefix": "arXiv"} if self.arxiv else {}),
        }
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in entries.items())
        return f"@{self.kind}{{{self.key},\n{lines}\n}}"


def _name(surname: str) -> str:
    return f"{{{surname}}}" if " " in surname else surname  # Van Essen is one name, not a first and a last


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def parse(key: str, line: str) -> Paper:
    found = _LINE.fullmatch(line)
    if found is None:
        raise UsageError(f"papers.py: {key!r} does not read 'Authors. Title. Venue Year. arXiv:ID': {line!r}.")
    names = [name.strip() for name in found["authors"].split(",")]
    more = names[-1] == "et al" or names[-1].endswith(" et al")
    names[-1] = names[-1].removesuffix("et al").strip()
    return Paper(
        key=key,
        authors=tuple(filter(None, names)),
        more=more,
        title=found["title"],
        year=int(found["year"]),
        venue=found["venue"] or "",
        arxiv=found["arxiv"] or "",
    )


def cited(plan: Plan | Baseline) -> list[Paper]:
    """Each paper once, in the order of the plan's text."""
    if isinstance(plan, Baseline):
        keys = ["li2020pytorch", *(["vogels2019powersgd"] if plan.hook == "powersgd" else [])]
    else:
        keys = [key for slot in fields(plan) for part in _parts(getattr(plan, slot.name)) for key in part.papers()]
    return [parse(key, PAPERS[key]) for key in dict.fromkeys(keys)]


def _parts(component: Component) -> Iterator[Component]:
    yield component
    for field in fields(component):  # type: ignore[arg-type]  # every concrete component is a dataclass
        value = getattr(component, field.name)
        if isinstance(value, Component):
            yield from _parts(value)
