"""What a launcher asks the head of a job to start, as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Script:
    """What every rank runs: `python TARGET ARGS` or `python -m TARGET ARGS`."""

    target: str
    is_module: bool
    args: tuple[str, ...]


@dataclass(frozen=True)
class Seat:
    """One rank: its own variables, the network it lives in, the share of time it may run, its cores (none: all)."""

    env: Mapping[str, str]
    netns: str | None
    share: float
    cores: Sequence[int]


@dataclass(frozen=True)
class Order:
    script: Script
    folder: str
    env: Mapping[str, str]  # of all ranks
    seats: tuple[Seat, ...]

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def read_order(line: bytes) -> Order:
    fields = json.loads(line)
    script = fields["script"]
    return Order(
        script=Script(script["target"], script["is_module"], tuple(script["args"])),
        folder=fields["folder"],
        env=fields["env"],
        seats=tuple(Seat(**seat) for seat in fields["seats"]),
    )
