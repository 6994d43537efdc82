"""Writes docs/catalog.md: what every algorithm does, promises and costs, from the code itself.

    python bench/catalog_page.py > docs/catalog.md

Formulas and notes are the opening texts of the algorithms' files, promises and bits what the laws measure, the list of
what is left out the files docs/left_out_*.md.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import torch

from laconic.catalogue import Entry, catalogue
from laconic.cli.list import QUESTIONS
from laconic.coding import AbstractCoding, AbstractIndexCoding, AbstractSymbolCoding
from laconic.components import COMPONENTS
from laconic.compress import QSGD
from laconic.compress.base import Draw
from laconic.core.rng import Stream
from laconic.measured_speed import ELEMENTS, paces

DOCS = Path(__file__).parents[1] / "docs"
NOMINAL = 1 << 20
HEAD = f"""# Catalogue

Written by `python bench/catalog_page.py`; do not edit. Bits and bounds are for a bucket of 2^20 elements with the
settings shown; "at most" and "on average" mark messages whose size depends on data or chance. A bound omega means
E|C(x)-x|^2 <= omega |x|^2 for an unbiased C, delta means E|C(x)-x|^2 <= (1-delta) |x|^2; the law suite (`tests/laws`)
measures every one of them. Headers (24 bytes a message) come on top. Bits of codings are measured: of an index on
{NOMINAL} elements by chance at 1% and 0.1%, of a level of `qsgd` on normally distributed elements.

GB/s are of input ({ELEMENTS:,} float32, one thread): of encode and of decode + add, or of one rank's work in a whole
exchange where messages are summed on the way. Compression saves time on links slower than "pays off below"; in bold
where that is under 1 Gbit/s. Measured by `laconic bench kernels --json --sizes 1e6 > laconic/kernels.json`; the file
names the machine.
"""


def page() -> str:
    entries = catalogue()
    folders = [folder for folder in QUESTIONS if any(entry.folder == folder for entry in entries)]
    parts = [HEAD, *(_folder(folder, [e for e in entries if e.folder == folder]) for folder in folders), left_out()]
    return "\n".join(part.rstrip() + "\n" for part in parts if part)


def left_out() -> str:
    """What the literature names and we do not have, with the reason: one list a family."""
    lists = [
        re.sub("^#", "###", path.read_text().strip(), flags=re.MULTILINE) for path in sorted(DOCS.glob("left_out_*.md"))
    ]
    return "\n\n".join(["## Left out", *lists]) if lists else ""


def _folder(folder: str, entries: list[Entry]) -> str:
    modules = dict.fromkeys(_module(entry) for entry in entries)
    sections = [_section(module, [e for e in entries if _module(e) is module]) for module in modules]
    table = _coding_table(entries) if folder == "coding" else _table(entries, folder)
    return "\n\n".join([f"## {folder}: {QUESTIONS[folder]}", table, *sections])


def _module(entry: Entry) -> ModuleType:
    module = inspect.getmodule(COMPONENTS[entry.name])
    assert module is not None
    return module


def _rows(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *map(list, rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _table(entries: list[Entry], folder: str) -> str:
    if folder != "compress":
        return _rows(["plan", "what it does"], ([f"`{e.usage}`", e.summary] for e in entries))
    head = ["plan", "what it does", "bits an element", "bound", "GB/s", "pays off below", "when to use"]
    return _rows(head, ([f"`{e.usage}`", e.summary, _bits(e), _bound(e), *_speed(e), _use(e)] for e in entries))


def _speed(entry: Entry) -> tuple[str, str]:
    pace = paces().get(entry.usage)
    if pace is None:
        return "", ""
    both = [pace.encode_gb_s] if pace.decode_gb_s is None else [pace.encode_gb_s, pace.decode_gb_s]
    below = "never" if pace.gbit_s is None else f"{pace.gbit_s:.2g} Gbit/s"
    return ", ".join(f"{v:.2g}" for v in both), f"**{below}**" if pace.slow else below


def _bits(entry: Entry) -> str:
    words = {"exact": "", "at most": "at most ", "expected": "on average "}
    return f"{words[str(entry.traits['size'])]}{entry.traits['bits_per_element']:.4g}"


def _bound(entry: Entry) -> str:
    omega, delta = entry.traits["omega"], entry.traits["delta"]
    said = ["unbiased"] if entry.traits["unbiased"] else []
    said += [f"omega = {omega:.3g}"] if omega is not None else []
    said += [f"delta = {_share(float(str(delta)))}"] if delta is not None else []
    return ", ".join(said) or "none"


def _share(delta: float) -> str:
    return f"1 - {1 - delta:.2g}" if 0.99 < delta < 1 else f"{delta:.3g}"


def _use(entry: Entry) -> str:
    """What follows from its traits."""
    traits = entry.traits
    route = "summed on the way: traffic does not grow with ranks" if traits["linear"] else ""
    if traits["remembers"]:
        memory = "remembers what it left out: not inside another `ef(...)`"
    elif traits["omega"] == 0 and traits["delta"] == 1:
        memory = "loses nothing"
    elif traits["unbiased"]:
        small = traits["omega"] is not None and float(str(traits["omega"])) < 1
        memory = "alone" if small else "alone with many ranks, or inside `ef(...)`, which damps it"
        memory = memory if traits["omega"] is not None else "alone: there is no bound that `ef(...)` could rely on"
    elif traits["delta"] is not None and float(str(traits["delta"])) > 0.99:
        memory = "alone, or inside `ef(...)` for the last digits"
    elif traits["delta"] is not None:
        memory = "inside `ef(...)`: alone it loses what it does not say"
    else:
        memory = "alone: there is no bound that `ef(...)` could rely on"
    return "; ".join(filter(None, [memory, route]))


def _coding_table(entries: list[Entry]) -> str:
    head = ["plan", "what it does", "codes", "bits an index (1%, 0.1%)", "bits a level (4-bit, 2-bit qsgd)"]
    return _rows(head, (_coding_row(e) for e in entries))


def _coding_row(entry: Entry) -> list[str]:
    coding = COMPONENTS[entry.name]()
    assert isinstance(coding, AbstractCoding)
    indices = [f"{_bits_an_index(coding, share):.2f}" for share in (0.01, 0.001)] if _is_index(coding) else []
    levels = [f"{_bits_a_level(coding, bits):.2f}" for bits in (4, 2) if _fits(coding, bits)]
    return [f"`{entry.usage}`", entry.summary, coding.made_for, ", ".join(indices), ", ".join(levels)]


def _is_index(coding: AbstractCoding) -> bool:
    return isinstance(coding, AbstractIndexCoding)


def _fits(coding: AbstractCoding, bits: int) -> bool:
    return isinstance(coding, AbstractSymbolCoding) and QSGD(bits).symbol_count <= coding.limit


def _bits_an_index(coding: AbstractCoding, share: float) -> float:
    assert isinstance(coding, AbstractIndexCoding)
    at = Stream(1).choice(NOMINAL, round(share * NOMINAL)).numpy()
    return 8 * coding.write(at, NOMINAL).size / at.size


def _bits_a_level(coding: AbstractCoding, bits: int) -> float:
    assert isinstance(coding, AbstractSymbolCoding)
    q, x = QSGD(bits), Stream(2).normal(NOMINAL)
    _, parts = q.encode(x, Draw(Stream(3), Stream(4)))
    symbols = q.to_symbols(parts[-1], NOMINAL).numpy()
    return 8 * coding.encode_symbols(symbols, q.symbol_count).size / NOMINAL


def _section(module: ModuleType, entries: list[Entry]) -> str:
    names = ", ".join(entry.name for entry in entries)
    papers = dict.fromkeys(f"*{entry.paper}*" for entry in entries if entry.paper)
    return "\n\n".join([f"### {names}", *_paragraphs((module.__doc__ or "").strip("\n")), *papers])


def _paragraphs(text: str) -> Iterator[str]:
    """Indented blocks are formulas; lines of code stay as they are."""
    for block in re.split(r"\n\s*\n", text):
        if block.startswith("    "):
            yield f"```text\n{textwrap.dedent(block)}\n```"
        else:
            yield from _mixed(block)


def _mixed(block: str) -> Iterator[str]:
    """A paragraph that an indented block follows without an empty line."""
    lines = block.splitlines()
    cut = next((i for i, line in enumerate(lines) if line.startswith("    ")), len(lines))
    yield "\n".join(lines[:cut]).replace("<", "\\<").replace("*", "\\*")
    if cut < len(lines):
        yield from _paragraphs("\n".join(lines[cut:]))


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.stdout.write(page())
