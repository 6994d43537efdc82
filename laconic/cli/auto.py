"""`--plan auto`: probe the network, profile the script, predict every plan, try the best against DDP, keep the winner.

    laconic run --hosts 4 --rate 100mbit --plan auto train.py             only plans that compute DDP's own mean
    laconic run --hosts 4 --rate 100mbit --plan "auto(lossy)" train.py    also those that round, compress or drift
    laconic compare digits --hosts 4 --rate 100mbit --plans "auto; bf16"

The script is started several times for some steps each before it is started for good: whatever it writes to disk in its
first steps, it writes several times. A plan is taken only if it was at least 3% faster than DDP in both tries, and in
two more with DDP alone, because the best of several may be the luckiest; of those within 1% of the fastest the mildest
is. Otherwise DDP itself is taken, and that is said. So it is for a script of fewer than 23 steps, which cannot be
measured.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from laconic.cli import probe, profile
from laconic.cli.servers import job_key
from laconic.compare.lines import Setting
from laconic.compare.measured import Run
from laconic.compare.order import Turn
from laconic.compare.rows import Row
from laconic.compare.rows import read as read_row
from laconic.compare.run import Request, run_once
from laconic.compare.show import Show
from laconic.core.errors import LaconicError, PlanError
from laconic.launch.job import Script, Site
from laconic.plan import Plan
from laconic.planner.candidates import candidates
from laconic.planner.coding import coding_of
from laconic.planner.finalists import STEPS, Finalist, finalists, nothing_to_try
from laconic.planner.judging import Say, Tries, settled
from laconic.planner.network_file import slow_pairs
from laconic.planner.risk import Risk
from laconic.planner.search import DDP, planner_of
from laconic.planner.why import alone
from laconic.sim.machine import Coding

AUTO, LOSSY = "auto", "auto(lossy)"
TRIES = 2
LIMIT_S = 1800.0


def is_auto(text: str | None) -> bool:
    return text is not None and text.replace(" ", "").lower() in (AUTO, LOSSY)


@dataclass(frozen=True)
class Trial:
    """How a try is run: the script, by repetition."""

    script: Callable[[int], Script]
    steps: int | None = None  # that will be trained in the end; None: as many as the script takes
    env: Mapping[str, str] = field(default_factory=dict)  # of its ranks, when it is trained
    limit_s: float = LIMIT_S  # of a try

    @property
    def variables(self) -> dict[str, str]:
        """The same for tries: as many threads, but a plan of their own and no trace."""
        return {k: v for k, v in self.env.items() if k != "LACONIC_PLAN"} | {"LACONIC_TRACE": ""}


def choose(text: str, trial: Trial, sites: Sequence[Site], say: Say | None = None) -> str:
    """The text of the plan to train with; `ddp` where nothing is worth the change."""
    say = say or _stderr
    lossy = text.replace(" ", "").lower() == LOSSY
    say(f"auto: measuring the network between {len(sites)} ranks and a few steps of the script ...")
    try:
        model = profile.run(trial.script(0), sites, "the script", trial.variables)
    except profile.NotMeasuredError as error:
        say(f"auto: DDP. {_first(str(error))}")
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
    some = finalists(ranking, trial.steps)
    if trial.steps is None and (needed := max((f.steps for f in some), default=0)) > STEPS:
        some = finalists(ranking, _length(needed, trial, sites, say))
    if not some:
        say(f"auto: DDP. {nothing_to_try(ranking)}")
        return DDP
    return settled(some, lambda these: _tried([Finalist(DDP, Risk.LOSSLESS), *these], trial, sites, say), say)


def _codings(texts: Sequence[str]) -> dict[str, Coding]:
    wanted: dict[str, Coding] = {}
    for text in texts:
        compress = Plan.parse(text).compress
        if str(compress) not in wanted and str(compress) != "none":
            wanted[str(compress)] = coding_of(compress)
    return wanted


def _length(needed: int, trial: Trial, sites: Sequence[Site], say: Say) -> int | None:
    """How many steps a script takes, seen under DDP; None: as many as are needed, or more. One that does not get so far
    may get through a short try, or will fail there."""
    row = read_row(DDP)
    request = _request([row], trial, sites, needed)
    came = run_once(request, Turn(0, 0, row), sites, Show([], sys.stderr))
    if not isinstance(came, Run):
        left_out = f"plans that take more than {STEPS} steps to judge are left out"
        say(f"auto: {left_out}. DDP was tried for {needed}: {_first(came)}")
        return STEPS
    return came.steps if came.steps < needed else None


def _request(rows: Sequence[Row], trial: Trial, sites: Sequence[Site], last_step: int) -> Request:
    setting = Setting("auto", (), len(sites), None, STEPS, TRIES)
    variables = {**trial.variables, **job_key(None, os.environ, insecure=False)}
    return Request(setting, tuple(rows), trial.script, trial.limit_s, last_step, variables)


def _tried(finalists: Sequence[Finalist], trial: Trial, sites: Sequence[Site], say: Say) -> Tries:
    """Measured steps, by turns, every second time backwards; a plan that failed is not tried again."""
    rows = {f: read_row(f.text) for f in finalists}
    request, show = _request([*rows.values()], trial, sites, STEPS), Show([], sys.stderr)
    seen: dict[str, list[float]] = {f.text: [] for f in finalists}
    for repetition in range(TRIES):
        for number, f in enumerate([*rows][:: -1 if repetition % 2 else 1]):
            came = run_once(replace(request, last_step=f.steps), Turn(number, repetition, rows[f]), sites, show)
            problem = _problem(f, came)
            if problem is None:
                assert isinstance(came, Run)
                seen[f.text].append(came.step_s)
            elif f.text == DDP:
                raise LaconicError(f"auto: DDP itself failed: {came}")
            else:
                say(f"auto: {f.text} {problem}")
                del rows[f]
    return seen


def _problem(f: Finalist, came: Run | str) -> str | None:
    """Why a try does not count."""
    if isinstance(came, str):
        return f"failed and is left out: {_first(came)}"
    if not f.settles(came.steps):
        return f"is left out: the script ends after {came.steps} steps, too few to judge it."
    return None


def _first(words: str) -> str:
    return (words.splitlines() or ["it said nothing."])[0]


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
