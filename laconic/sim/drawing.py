"""What a step looks like where it is not played as a whole: computing by itself, a turn after it, one of several.

| forward | backward, gradient by gradient | update | what follows, drawn from there on
"""

from __future__ import annotations

from collections.abc import Iterable

from laconic.sim.fluid import On, Span
from laconic.sim.lanes import MAIN
from laconic.sim.model import ModelTable

Spans = tuple[Span, ...]


def computing(model: ModelTable, each_s: float, more_s: float = 0.0) -> Spans:
    """`each_s`: what a second of the model takes; `more_s`: whatever else a step costs, at its end."""
    by_ready = sorted(model.weights, key=lambda w: w.ready)
    parts = [("forward", (model.forward_s + model.other_s) * each_s)]
    parts += [(w.name, w.backward_s * each_s) for w in by_ready]
    parts.append(("update", model.update_s * each_s + more_s))
    out, now = list[Span](), 0.0
    for name, seconds in parts:
        if seconds > 0:
            out.append(Span(MAIN, On.COMPUTE, name, now, now + seconds))
            now += seconds
    return tuple(out)


def followed(first: Spans, then: Iterable[Span]) -> Spans:
    """The second begins when the first is through."""
    at = max((s.end for s in first), default=0.0)
    return (*first, *(s._replace(start=s.start + at, end=s.end + at) for s in then))


def between(spans: Iterable[Span], start: float, end: float) -> Spans:
    """What happens from `start` to `end`, which it is counted from; longer spans are cut."""
    return tuple(
        s._replace(start=max(s.start, start) - start, end=min(s.end, end) - start)
        for s in spans
        if s.end > start and s.start < end
    )
