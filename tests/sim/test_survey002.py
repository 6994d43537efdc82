"""Survey 002's measured speedups, from its published inputs."""

from __future__ import annotations

from laconic.sim.survey002 import rows

EXPLAINED = {"ByteScheduler-A2A"}  # ran untuned on a patched Horovod; docs/scale.md


def test_lossless_methods_come_out_within_15_percent() -> None:
    seen = [r for r in rows() if r.method not in EXPLAINED]
    off = {(r.model, r.method, r.gpus): round(r.ratio, 2) for r in seen if abs(r.ratio - 1) > 0.15}
    assert off == {}
    assert len(seen) == 36
