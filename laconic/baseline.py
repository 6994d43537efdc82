"""The baselines plans are compared with: torch's own DDP and its hooks, by name.

`ddp`, `ddp+fp16`, `ddp+bf16`, `ddp+powersgd(4)` may stand wherever a plan text may, so that one script serves for both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from laconic.core.errors import PlanError

_FORM = re.compile(r"ddp(?:\s*\+\s*(fp16|bf16|powersgd)(?:\((\d+)\))?)?")


@dataclass(frozen=True)
class Baseline:
    hook: str = ""  # "", fp16, bf16, powersgd
    rank: int = 0  # of powersgd

    def __str__(self) -> str:
        tail = f"({self.rank})" if self.hook == "powersgd" else ""
        return f"ddp+{self.hook}{tail}" if self.hook else "ddp"


def parse(text: str) -> Baseline | None:
    """None where the text is not about a baseline at all."""
    text = text.strip().lower()  # as names in plans
    if not text.startswith("ddp"):
        return None
    found = _FORM.fullmatch(text)
    if found is None or (found[2] and (found[1] != "powersgd" or not int(found[2]))):
        raise PlanError(f"{text!r} is not a baseline. There are ddp, ddp+fp16, ddp+bf16 and ddp+powersgd(4).")
    rank = int(found[2] or 4) if found[1] == "powersgd" else 0
    return Baseline(found[1] or "", rank)
