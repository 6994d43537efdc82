"""The reasons behind a ranking, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from laconic.core.units import bytes_text, seconds_text
from laconic.planner.search import DDP, Found, Planner, Risk

WORTH = 1.03  # less is not worth a change


def reasons(planner: Planner, found: Sequence[Found]) -> list[str]:
    """Of one number of workers, fastest first."""
    if not found:
        return ["No plan fits so many workers."]
    best = found[0]
    ddp = next((f for f in found if f.text == DDP), None)
    said = [_model(planner, best.world)]
    if ddp is not None:
        said.append(_bottleneck("DDP", ddp))
    if best.text == DDP or (ddp is not None and ddp.step.seconds < WORTH * best.step.seconds):
        said.append("DDP is the answer: nothing allowed here is predicted to be 3% faster.")
    elif ddp is not None:
        said.append(
            f"{best.text} ({best.risk.value}) is predicted to take {seconds_text(best.step.seconds)}, "
            f"{ddp.step.seconds / best.step.seconds:.2f} times as fast as DDP; it sends "
            f"{bytes_text(best.step.sent_bytes)} instead of {bytes_text(ddp.step.sent_bytes)}."
        )
        said.append(_bottleneck(best.text, best))
    if ddp is not None and ddp.step.line_s > ddp.step.alone_s and best.risk is Risk.LOSSLESS:
        said.append(
            "The line alone takes longer than the computing, so no lossless order of messages can hide it: fewer bytes "
            "(--lossy) or fewer rounds would."
        )
    if not best.pays:
        said.append(
            f"One worker alone is faster: {best.world} workers do {best.speedup:.2f} times its work. Do not distribute."
        )
    return said


def _model(planner: Planner, world: int) -> str:
    model = planner.model
    cores = planner.setting(world).machine.cores
    share = (
        ""
        if cores >= 1
        else f" Each worker has {cores:.2g} of a core, so computing takes {1 / cores:.2g} times as long."
    )
    return (
        f"{world} workers: {model.numel / 1e6:.2f} M parameters ({bytes_text(model.nbytes)}), "
        f"{seconds_text(model.step_s)} of computing a step.{share}"
    )


def _bottleneck(name: str, found: Found) -> str:
    step = found.step
    hidden = max(0.0, step.line_s - step.exposed_s)
    return (
        f"{name}: {seconds_text(step.seconds)} a step, of it {seconds_text(step.exposed_s)} exposed; "
        f"{seconds_text(step.line_s)} on the line ({seconds_text(hidden)} hidden), "
        f"{seconds_text(step.coding_s)} of coding; limited by {step.bottleneck}."
    )
