"""Which plan won its tries, if any.

wins      at least 3% faster than DDP in every try
is first  the fastest; of those within 1% of it the one that asks least of the model
is taken  who wins once more beside DDP alone: the best of several may have been the luckiest
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from laconic.core.units import seconds_text
from laconic.planner.finalists import Finalist
from laconic.planner.risk import MILDEST_FIRST, Risk
from laconic.planner.search import CLEARLY, DDP

WORTH = 1.03
CONFIRMED = 2  # winners at most that are tried once more

Say = Callable[[str], None]
Tries = Mapping[str, Sequence[float]]  # seconds a step, by plan


def settled(finalists: Sequence[Finalist], tried: Callable[[Sequence[Finalist]], Tries], say: Say) -> str:
    """The text of the plan to train with, after tries beside DDP; `ddp` where none won."""
    won = winners(finalists, tried(finalists), say)
    for f in won[:CONFIRMED]:
        say(f"auto: trying {f.text} once more ...")
        if winners([f], tried([f]), say):
            say(f"auto: training with {f.text}.{_caution(f.risk)}")
            return f.text
        say(f"auto: {f.text} did not win beside DDP alone.")
    say(f"auto: DDP is the answer: no plan {'won once more' if won else 'was 3% faster in every try'}.")
    return DDP


def winners(finalists: Sequence[Finalist], seen: Tries, say: Say) -> list[Finalist]:
    """Those that beat DDP in every try; the fastest first, of those within one percent of it the mildest."""
    ddp = seen[DDP]
    whole = {f: fmean(seen[f.text]) for f in finalists if len(seen[f.text]) == len(ddp)}
    for f, seconds in whole.items():
        predicted = "" if f.predicted_s is None else f" (predicted {seconds_text(f.predicted_s)})"
        say(
            f"auto: {f.text} ({f.risk.value}): {seconds_text(seconds)} a step, "
            f"{fmean(ddp) / seconds:.2f} times as fast as DDP{predicted}."
        )
    good = [f for f in whole if all(d >= WORTH * s for d, s in zip(ddp, seen[f.text], strict=True))]
    close = min((whole[f] for f in good), default=0.0) / CLEARLY
    return sorted(good, key=lambda f: (max(whole[f], close), MILDEST_FIRST.index(f.risk), whole[f]))


def _caution(risk: Risk) -> str:
    """What tries cannot tell."""
    if risk is Risk.LOSSLESS:
        return ""
    return f" It is {risk.value}, and only its speed was measured: laconic compare shows what the model gets."
