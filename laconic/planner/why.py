"""The reasons behind a ranking, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from laconic.core.units import bytes_text, seconds_text
from laconic.planner.grounds import grounds
from laconic.planner.network_file import slow_pairs
from laconic.planner.risk import Risk
from laconic.planner.search import DDP, Found, Planner, Ranking

WORTH = 1.03  # less is not worth a change


def reasons(planner: Planner, ranking: Ranking, rows: Sequence[Found] = ()) -> list[str]:
    """Of one number of workers; `rows`: what is shown."""
    best, ddp = ranking.best, ranking.ddp
    said = [_model(planner, best.world)]
    if best.world == 1:
        return [*said, "One worker has nobody to talk to: every plan is as fast as none."]
    said.append(_bottleneck("DDP", ddp))
    if best.text == DDP or ddp.step.seconds < WORTH * best.step.seconds:
        said.append("DDP is the answer: nothing allowed here is predicted to be 3% faster.")
    else:
        said.append(
            f"{best.text} ({best.risk.value}) is predicted to take {seconds_text(best.step.seconds)}, "
            f"{ddp.step.seconds / best.step.seconds:.2f} times as fast as DDP; it sends "
            f"{bytes_text(best.step.sent_bytes)} instead of {bytes_text(ddp.step.sent_bytes)}.{_servers(best)}"
        )
        said.append(_bottleneck(best.text, best))
        said += _without_more_hosts(ranking)
    if ddp.step.line_s > ddp.step.alone_s and best.risk is Risk.LOSSLESS:
        said.append(
            "The line alone takes longer than the computing, so no lossless order of messages can hide it: fewer bytes "
            "(--lossy) or fewer rounds would."
        )
    if planner.table is not None:
        said += slow_pairs(planner.table)
    return [*said, *alone(ranking), *grounds(planner, best.world, rows)]


def alone(ranking: Ranking) -> list[str]:
    """Is one worker faster than all of them together?"""
    return [f"One worker is faster alone: {_work(ranking.best)}. Do not distribute."] if _loses(ranking.best) else []


def _loses(f: Found) -> bool:
    """To one worker."""
    return f.world > 1 and round(f.speedup, 2) < 1


def _work(f: Found) -> str:
    return f"{f.world} workers do {f.speedup:.2f} times its work"


def _model(planner: Planner, world: int) -> str:
    model = planner.model
    cores = planner.setting(world).machine.cores
    share = (
        ""
        if cores >= 1
        else f" Each worker has {cores:.2g} of a core, so computing takes {1 / cores:.2g} times as long."
    )
    return (
        f"{world} worker{'' if world == 1 else 's'}: {model.numel / 1e6:.2f} M parameters "
        f"({bytes_text(model.nbytes)}), {seconds_text(model.step_s)} of computing a step.{share}"
    )


def hosts_text(count: int) -> str:
    return f"{count} more host{'' if count == 1 else 's'}"


def _servers(f: Found) -> str:
    if not f.more_hosts:
        return ""
    which = "server has a host of its" if f.more_hosts == 1 else f"{f.more_hosts} servers have hosts of their"
    return f" Its {which} own: it needs {hosts_text(f.more_hosts)}."


def _without_more_hosts(ranking: Ranking) -> list[str]:
    if not ranking.best.more_hosts:
        return []
    here, ddp = ranking.best_here, ranking.ddp
    if _loses(here):
        best = "" if _loses(ranking.best) else f"Without more hosts one worker is faster alone: {_work(here)}."
        return [best] if best else []
    if here.text == DDP or ddp.step.seconds < WORTH * here.step.seconds:
        return ["Without more hosts DDP is the answer: nothing else that needs none is predicted to be 3% faster."]
    seconds, times = here.step.seconds, ddp.step.seconds / here.step.seconds
    what = f"{here.text} ({here.risk.value}) is the fastest: {seconds_text(seconds)} a step"
    return [f"Without more hosts {what}, {times:.2f} times as fast as DDP."]


def _bottleneck(name: str, found: Found) -> str:
    step = found.step
    hidden = max(0.0, step.line_s - step.exposed_s)
    return (
        f"{name}: {seconds_text(step.seconds)} a step, of it {seconds_text(step.exposed_s)} exposed; "
        f"{seconds_text(step.line_s)} on the line ({seconds_text(hidden)} hidden), "
        f"{seconds_text(step.coding_s)} of coding; limited by {step.bottleneck}."
    )
