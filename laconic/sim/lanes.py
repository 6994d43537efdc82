"""A step's timeline: a training thread and lanes that share cores and a line (fluid.py), as the runtime's do.

main      forward, then backward gradient by gradient; a bucket whose gradients (and those of all before it) are
          final is launched at once, or at the end of backward where the schedule says so; then all are waited for
lane i    every L-th exchange, in launch order: code, ask, wait, code, ask, ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from laconic.plan import Plan
from laconic.sim.exchanges import Exchange, Setting
from laconic.sim.fluid import Actor, Both, Fluid, Gate, Need, On, Span
from laconic.sim.machine import Machine

MAIN = "main"
HARDLY = 0.05  # of computing: whoever waits less is limited by that


@dataclass(frozen=True)
class Step:
    """What a step takes; `alone_s`: the same worker without anybody to talk to."""

    seconds: float
    alone_s: float
    sent_bytes: float
    messages: float
    coding_s: float
    line_s: float
    spans: tuple[Span, ...]
    notes: tuple[str, ...] = ()

    @property
    def exposed_s(self) -> float:
        """What talking adds."""
        return max(0.0, self.seconds - self.alone_s)

    @property
    def bottleneck(self) -> str:
        return "compute" if self.exposed_s < HARDLY * self.alone_s else self.held_up_by

    @property
    def held_up_by(self) -> str:
        """What most of talking waits for, however short that is."""
        return (
            "line"
            if self.line_s > max(self.coding_s, 0.5 * self.exposed_s)
            else ("coding" if self.coding_s > 0.5 * self.exposed_s else "latency")
        )


def overlapped(plan: Plan, setting: Setting, items: Sequence[Exchange], slowdown: float, alone: float) -> Step:
    machine = setting.machine
    fluid = Fluid(machine.cores, machine.overlap)
    ready, done = [Gate() for _ in items], [Gate() for _ in items]
    overlaps = plan.schedule.overlaps
    fluid.add(MAIN, _main(fluid, setting, items, ready, done, slowdown, overlaps=overlaps))
    for number in range(machine.lanes):
        mine = [i for i in range(len(items)) if i % machine.lanes == number]
        fluid.add(f"lane {number}", lane(fluid, machine, [(items[i], ready[i], done[i]) for i in mine]))
    fluid.run()
    return report(fluid, items, fluid.ended[MAIN], alone)


def report(fluid: Fluid, items: Sequence[Exchange], seconds: float, alone: float) -> Step:
    return Step(
        seconds=seconds,
        alone_s=alone,
        sent_bytes=sum(i.sent for i in items),
        messages=sum(w.messages for i in items for w in i.wires),
        coding_s=sum(sum(i.cpu_s) for i in items),
        line_s=sum(w.line_s for i in items for w in i.wires),
        spans=tuple(fluid.spans),
        notes=tuple(sorted({note for i in items for note in i.notes})),
    )


def _main(
    fluid: Fluid,
    setting: Setting,
    items: Sequence[Exchange],
    ready: Sequence[Gate],
    done: Sequence[Gate],
    slowdown: float,
    *,
    overlaps: bool,
) -> Actor:
    model = setting.model
    yield Need(On.COMPUTE, (model.forward_s + model.other_s) * slowdown, "forward")
    launched, at = 0, -1
    for w in sorted(model.weights, key=lambda w: w.ready):
        yield Need(On.COMPUTE, w.backward_s * slowdown, w.name)
        at = w.ready
        while overlaps and launched < len(items) and items[launched].last <= at:
            fluid.open(ready[launched])
            launched += 1
    for gate in ready[launched:]:
        fluid.open(gate)
    for gate in done:
        yield gate
    yield Need(On.COMPUTE, model.update_s * slowdown + setting.machine.step_s, "update")


def lane(fluid: Fluid, machine: Machine, mine: Sequence[tuple[Exchange, Gate, Gate]]) -> Actor:
    latency = On.TURN if machine.crowded else On.CLOCK
    for item, ready, done in mine:
        yield ready
        for cpu_s, wire in zip(item.cpu_s, item.wires, strict=False):
            yield Need(On.CODE, cpu_s, item.name)
            for on, seconds, on_core in (
                (latency, wire.latency_s, wire.messages * machine.message_cpu_s),
                (On.LINE, wire.line_s, wire.sent * machine.send_cpu_s),
            ):  # what was measured as a wait holds the work for it
                yield Both(Need(on, seconds, item.name), Need(On.CODE, on_core, item.name))
        yield Need(On.CODE, item.cpu_s[-1], item.name)
        fluid.open(done)


def afterwards(items: Sequence[Exchange], setting: Setting, beside_s: float = 0.0) -> Step:
    """All exchanges at once, with nothing to hide behind, or beside so many seconds of computing."""
    machine = setting.machine
    fluid = Fluid(machine.cores, machine.overlap)
    gates = [Gate(is_open=True) for _ in items]
    done = [Gate() for _ in items]
    for number in range(machine.lanes):
        mine = [i for i in range(len(items)) if i % machine.lanes == number]
        fluid.add(f"lane {number}", lane(fluid, machine, [(items[i], gates[i], done[i]) for i in mine]))
    if beside_s:
        fluid.add(MAIN, _computing(beside_s))
    seconds = fluid.run()
    return replace(report(fluid, items, seconds, 0.0), seconds=seconds)


def _computing(seconds: float) -> Actor:
    yield Need(On.COMPUTE, seconds, "the next steps")
