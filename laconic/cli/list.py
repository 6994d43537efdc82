"""`laconic list`: every algorithm a plan can name, by the question it answers."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from laconic.catalogue import Entry, catalogue
from laconic.measured_speed import Pace, paces

WIDTH = 100
NO_BREAK = "\u00a0"  # textwrap breaks lines only at plain spaces
QUESTIONS = {
    "sync": "when do workers talk?",
    "outer": "what is done with the mean of ways?",
    "topology": "with whom?",
    "graph": "gossip along which graph?",
    "mixing": "how does gossip mix models?",
    "compress": "what do they say?",
    "coding": "how is it packed?",
    "schedule": "in what order?",
}


def main(argv: Sequence[str]) -> int:
    """Print the catalogue as a table or as JSON."""
    parser = argparse.ArgumentParser(prog="laconic list", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON array instead of a table")
    args = parser.parse_args(argv)
    entries = catalogue()
    print(as_json(entries) if args.json else as_table(entries))
    return 0


def as_json(entries: Iterable[Entry]) -> str:
    """An array of objects with the keys name, folder, summary, paper, traits, usage, speed."""
    rows = [
        {
            "name": entry.name,
            "folder": entry.folder,
            "summary": entry.summary,
            "paper": entry.paper,
            "traits": dict(entry.traits),
            "usage": entry.usage,
            "speed": _speed(paces().get(entry.usage)) if entry.folder == "compress" else None,
        }
        for entry in entries
    ]
    return json.dumps(rows, indent=2, default=str, ensure_ascii=False)


def as_table(entries: Iterable[Entry]) -> str:
    """Four questions, their algorithms below, no line over 100 columns."""
    by_folder: dict[str, list[Entry]] = {folder: [] for folder in QUESTIONS}
    for entry in entries:
        by_folder.setdefault(entry.folder, []).append(entry)
    column = max((len(entry.usage) for group in by_folder.values() for entry in group), default=0)
    blocks = [
        "\n".join([_heading(folder), *(_row(entry, min(column, 28)) for entry in group)])
        for folder, group in by_folder.items()
        if group
    ]
    return "\n\n".join(blocks)


def _heading(folder: str) -> str:
    question = QUESTIONS.get(folder)
    return f"{folder}: {question}" if question else folder


def _row(entry: Entry, column: int) -> str:
    head = f"  {entry.usage:{column}}  "
    if len(head) > column + 4:  # a long example takes its own line
        return "\n".join([head.rstrip(), *_body(entry, column)])
    first, *rest = _body(entry, column)
    return "\n".join([head + first.lstrip(), *rest])


def _body(entry: Entry, column: int) -> list[str]:
    indent = " " * (column + 4)
    traits = ", ".join(_whole(trait) for trait in trait_texts(entry.traits))
    return [
        line.replace(NO_BREAK, " ")
        for text in (entry.summary, traits, _warning(entry), entry.paper)
        if text
        for line in textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    ] or [indent]


def _warning(entry: Entry) -> str:
    """Marks what does not pay off on a common link."""
    pace = paces().get(entry.usage) if entry.folder == "compress" else None
    if pace is None or not pace.slow:
        return ""
    return f"SLOW: pays off below {pace.gbit_s:.2g} Gbit/s only; at 1 Gbit/s the raw bytes are faster"


def _speed(pace: Pace | None) -> dict[str, object] | None:
    return None if pace is None else asdict(pace) | {"slow": pace.slow}


def trait_texts(traits: Mapping[str, object]) -> list[str]:
    """True traits by name, false ones with "not", the rest with their value; None is left out."""
    return [_trait(name, value) for name, value in traits.items() if value is not None]


def _trait(name: str, value: object) -> str:
    word = name.replace("_", " ")
    if isinstance(value, bool):
        return word if value else f"not {word}"
    return f"{word} = {value:.4g}" if isinstance(value, float) else f"{word} = {value}"


def _whole(trait: str) -> str:
    """A short trait stays on one line."""
    return trait.replace(" ", NO_BREAK) if len(trait) < WIDTH // 2 else trait
