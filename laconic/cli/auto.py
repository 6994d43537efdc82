"""`--plan auto`: probe the network, profile the script, predict every plan, try the best against DDP, keep the winner.

    laconic run --hosts 4 --rate 100mbit --plan auto train.py             only plans that compute DDP's own mean
    laconic run --hosts 4 --rate 100mbit --plan "auto(lossy)" train.py    also those that round, compress or drift
    laconic compare digits --hosts 4 --rate 100mbit --plans "auto; bf16"

The script is started several times for some steps each before it is started for good: whatever it writes to disk in its
first steps, it writes several times. A plan is taken only if it was at least 3% faster than DDP in both tries, and in
two more with DDP alone, because the best of several may be the luckiest; otherwise DDP itself is, and that is said. So
it is for a script of fewer than 23 steps, which cannot be measured.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean

from laconic.cli import probe, profile
from laconic.cli.servers import job_key
from laconic.compare.lines import Setting
from laconic.compare.measured import Run
from laconic.compare.order import Turn
from laconic.compare.rows import read as read_row
from laconic.compare.run import Request, run_once
from laconic.compare.show import Show
from laconic.core.errors import LaconicError, PlanError
from laconic.core.units import seconds_text
from laconic.launch.job import Script, Site
from laconic.pilot import WARM, WATCH
from laconic.plan import Plan
from laconic.planner.candidates import candidates
from laconic.planner.coding import coding_of
from laconic.planner.network_file import slow_pairs
from laconic.planner.risk import Risk
from laconic.planner.search import DDP, Ranking, planner_of
from laconic.planner.why import alone
from laconic.schedule.halving import ROUNDS, WINDOW
from laconic.sim.machine import Coding
from laconic.sim.turns import period

AUTO, LOSSY = "auto", "auto(lossy)"
STEPS = 24  # of a try
SETTLING = WARM + WATCH + 2 * ROUNDS * (WINDOW + 1) + 2  # steps until a measured order has been tried against the usual
FEW = 8  # steps after that, at least
TRIES = 2
FINALISTS = 2  # besides DDP
WORTH = 1.03
PLANNED, WAITS = "planned", 0.1  # tried where DDP waits for more than this share of a step
LIMIT_S = 1800.0

Say = Callable[[str], None]
Tries = Mapping[str, Sequence[float]]  # seconds a step, by plan


def is_auto(text: str | None) -> bool:
    return text is not None and text.replace(" ", "").lower() in (AUTO, LOSSY)


@dataclass(frozen=True)
class Trial:
    """How a try is run: the script, by repetition."""

    script: Callable[[int], Script]
    steps: int | None = None  # that will be trained in the end; None: as many as the script takes
    env: Mapping[str, str] = field(default_factory=dict)  # of its ranks, when it is trained

    @property
    def variables(self) -> dict[str, str]:
        """The same for tries: as many threads, but a plan of their own and no trace."""
        return {k: v for k, v in self.env.items() if k != "LACONIC_PLAN"} | {"LACONIC_TRACE": ""}


@dataclass(frozen=True)
class Finalist:
    """What is tried against DDP."""

    text: str
    risk: Risk
    predicted_s: float | None = None  # None: virtual time cannot follow it

    @property
    def settling(self) -> int:
        """Steps until an order that is worked out while training has been."""
        return SETTLING if self.text != DDP and Plan.parse(self.text).schedule.is_measured else 0

    @property
    def every(self) -> int:
        """Steps from one exchange to the next."""
        return 1 if self.text == DDP else period(Plan.parse(self.text))

    @property
    def steps(self) -> int:
        """Of a try: rare exchanges have to be seen, too."""
        return self.settling + STEPS // 2 if self.settling else max(STEPS, self._rarest)

    @property
    def _rarest(self) -> int:
        """Steps in which a plan that talks now and then has talked twice."""
        return 2 * self.every + 1 if self.every > 1 else 0

    def settles(self, steps: int) -> bool:
        """Is a training of so many steps long enough for it?"""
        return steps >= (self.settling + FEW if self.settling else self._rarest)


def longest() -> int:
    """A script that takes so many steps can be tried with any candidate."""
    return max(Finalist(text, Risk.STALE).steps for text in candidates(lossy=True))


def choose(text: str, trial: Trial, sites: Sequence[Site], say: Say | None = None) -> str:
    """The text of the plan to train with; `ddp` where nothing is worth the change."""
    say = say or _stderr
    lossy = text.replace(" ", "").lower() == LOSSY
    say(f"auto: measuring the network between {len(sites)} ranks and a few steps of the script ...")
    try:
        model = profile.run(trial.script(0), sites, "the script", trial.variables)
    except profile.TooShortError as error:
        say(f"auto: DDP. {error}")
        return DDP
    texts = candidates(lossy=lossy)
    try:
        raw = probe.measure(sites, trial.variables)
    except LaconicError as error:
        say(f"auto: DDP. The network could not be measured. {error}")
        return DDP
    table = probe.finished(raw, "", _codings(texts))
    ranking = planner_of(model, table).rank(len(sites), texts)
    for sentence in (*slow_pairs(table), *alone(ranking)):
        say(f"auto: {sentence}")
    finalists = [f for f in _finalists(ranking) if trial.steps is None or f.settles(trial.steps)]
    if not finalists:
        say("auto: DDP. No other plan allowed here is predicted to be faster.")
        return DDP
    return _settled(finalists, lambda some: _tried([Finalist(DDP, Risk.LOSSLESS), *some], trial, sites, say), say)


def _codings(texts: Sequence[str]) -> dict[str, Coding]:
    wanted: dict[str, Coding] = {}
    for text in texts:
        compress = Plan.parse(text).compress
        if str(compress) not in wanted and str(compress) != "none":
            wanted[str(compress)] = coding_of(compress)
    return wanted


def _finalists(ranking: Ranking) -> list[Finalist]:
    """The fastest by prediction, as long as DDP is not predicted to beat them; and `planned` where DDP waits: it is
    lossless, and keeps DDP's buckets unless its own are faster."""
    ddp = ranking.ddp
    better = [f for f in ranking.found if f.distributes and f.text not in (DDP, "none")]
    better = [f for f in better if f.step.seconds < ddp.step.seconds]
    out = [Finalist(f.text, f.risk, f.step.seconds) for f in better[:FINALISTS]]
    if ddp.step.exposed_s > WAITS * ddp.step.seconds and PLANNED not in [f.text for f in out]:
        known = next((f.step.seconds for f in ranking.found if f.text == PLANNED), None)
        out.append(Finalist(PLANNED, Risk.LOSSLESS, known))
    return out


def _tried(finalists: Sequence[Finalist], trial: Trial, sites: Sequence[Site], say: Say) -> Tries:
    """Measured steps, by turns."""
    rows = [read_row(f.text) for f in finalists]
    setting = Setting("auto", (), len(sites), None, STEPS, TRIES)
    variables = {**trial.variables, **job_key(None, os.environ, insecure=False)}
    request = Request(setting, tuple(rows), trial.script, LIMIT_S, STEPS, variables)
    show = Show([], sys.stderr)
    seen: dict[str, list[float]] = {f.text: [] for f in finalists}
    for repetition in range(TRIES):
        for number, (f, row) in enumerate(zip(finalists, rows, strict=True)):
            came = run_once(replace(request, last_step=f.steps), Turn(number, repetition, row), sites, show)
            if isinstance(came, Run) and not f.settles(came.steps):
                say(f"auto: {f.text} is left out: the script ends after {came.steps} steps, too few to judge it.")
            elif isinstance(came, Run):
                seen[f.text].append(came.step_s)
            elif f.text == DDP:
                raise LaconicError(f"auto: DDP itself failed: {came}")
            else:
                say(f"auto: {f.text} failed and is left out: {came.splitlines()[0]}")
    return seen


def _settled(finalists: Sequence[Finalist], tried: Callable[[Sequence[Finalist]], Tries], say: Say) -> str:
    best = _best(finalists, tried(finalists), say)
    if best is None:
        say("auto: DDP is the answer: no plan was 3% faster in every try.")
        return DDP
    say(f"auto: trying {best.text} once more ...")
    if _best([best], tried([best]), say) is None:
        say(f"auto: DDP is the answer: {best.text} was not 3% faster in every try.")
        return DDP
    say(f"auto: training with {best.text}.")
    return best.text


def _best(finalists: Sequence[Finalist], seen: Tries, say: Say) -> Finalist | None:
    """Of those that beat DDP in every try."""
    ddp = seen[DDP]
    whole = [f for f in finalists if len(seen[f.text]) == len(ddp)]
    for f in whole:
        predicted = "" if f.predicted_s is None else f" (predicted {seconds_text(f.predicted_s)})"
        say(
            f"auto: {f.text} ({f.risk.value}): {seconds_text(fmean(seen[f.text]))} a step, "
            f"{fmean(ddp) / fmean(seen[f.text]):.2f} times as fast as DDP{predicted}."
        )
    good = [f for f in whole if all(d >= WORTH * s for d, s in zip(ddp, seen[f.text], strict=True))]
    return min(good, key=lambda f: fmean(seen[f.text]), default=None)


def _stderr(text: str) -> None:
    print(f"laconic {text}", file=sys.stderr, flush=True)


def refuse_elsewhere(alone: bool) -> None:
    if not alone:
        raise PlanError(
            "--plan auto starts the script several times, which it can do on one machine only. On several, use "
            "laconic probe (its help says how), laconic profile and laconic plan, and give the plan you chose."
        )


def script_of(path: str, *, is_module: bool, args: Sequence[str]) -> Callable[[int], Script]:
    made = Script(path if is_module else str(Path(path)), is_module=is_module, args=tuple(args))
    return lambda _: made
