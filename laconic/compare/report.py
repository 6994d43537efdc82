"""The comparison for programs: one JSON object, null where nothing is known, never NaN."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from laconic.compare.lines import Comparison, Line, Result, Setting, examples_per_s, lines
from laconic.compare.rows import Kind
from laconic.compare.verdict import verdict
from laconic.core.files import json_text


def as_json(comparison: Comparison) -> str:
    return json_text(as_dict(comparison), indent=2) + "\n"


def as_dict(comparison: Comparison) -> dict[str, Any]:
    setting = comparison.setting
    return {
        "task": setting.task,
        "args": list(setting.args),
        "hosts": setting.hosts,
        "rate": setting.rate,
        "lab": setting.lab,
        "link": setting.link,
        "steps": setting.steps,
        "repeat": setting.repeat,
        "batch": setting.batch,
        "until": None if setting.until is None else str(setting.until),
        "complete": comparison.complete,
        "command": setting.command,
        "machine": dict(setting.machine),
        "verdict": verdict(comparison),
        "rows": [
            _row(line, result, setting) for line, result in zip(lines(comparison), comparison.results, strict=True)
        ],
    }


def _row(line: Line, result: Result, setting: Setting) -> dict[str, Any]:
    return {
        "plan": line.row.text,
        "canonical": line.row.plan,
        "kind": line.row.kind.value,
        "baseline": line.row.kind is Kind.BASELINE,
        "step_s": None if line.step_s is None else asdict(line.step_s),
        "ratio_to_ddp": line.ratio_to_ddp,
        "ratio_to_best_baseline": line.ratio_to_best_baseline,
        "times_floor": line.times_floor,
        "steps_per_s": line.steps_per_s,
        "examples_per_s": examples_per_s(line, setting),
        "tx_bytes_per_step": line.tx_bytes,
        "wire_bytes_per_step": line.wire_bytes,
        "compute_s": line.compute_s,
        "exposed_s": line.exposed_s,
        "exposed_by": line.exposed_by,
        "metrics": dict(line.metrics),
        "to_target": None if line.reached is None else asdict(line.reached),
        "failed": line.failure is not None,
        "error": line.failure,
        "runs": [asdict(run) for run in result.runs],
    }
