"""Options of a verb, and those it passes on to a script: never abbreviated, and what looks like a typo is refused."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence

from laconic.core.errors import UsageError

CLOSE = 0.8


def divided(parser: argparse.ArgumentParser, argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our options, and what belongs to the task or script: what we do not know, and all after --."""
    assert not parser.allow_abbrev, "a script's --out is not our --output"
    words = list(argv)
    at = words.index("--") if "--" in words else len(words)
    args, unknown = parser.parse_known_args(words[:at])
    own = [option for action in parser._actions for option in action.option_strings]  # noqa: SLF001  (no public way)
    for word in unknown:
        near = difflib.get_close_matches(word.partition("=")[0], own, n=1, cutoff=CLOSE)
        if word.startswith("--") and near:
            raise UsageError(f"there is no option '{word}'. Did you mean '{near[0]}'? The script's own stand after --.")
    return args, [*unknown, *words[at + 1 :]]
