"""Random buckets for every compressor, and messages damaged on the way: for `test_fuzz.py`, `bench/fuzz_payloads.py`.

Tensors have any shape (also no element, one, primes), type, stride and size of numbers: subnormal, huge, zero, all
equal, of many magnitudes. What comes back is of the right shape and type and finite. A message that is cut is always
refused; one with a bit turned is refused where a checksum is asked for, else refused or read as numbers of the right
shape.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from laconic.core import state as tree
from laconic.core.bucket import BucketSpec, flatten
from laconic.core.errors import PayloadError
from laconic.core.exchange import Exchanged, Turn
from laconic.drive.lockstep import answer_all
from tests.laws.world import World, routes
from tests.zoo import Entry

TYPES = (torch.float32, torch.float32, torch.float32, torch.float16, torch.bfloat16, torch.float64)
SMALLEST = 1e-45
MAGIC = b"La"


@dataclass
class Tally:
    """What was tried on one compressor, and how it ended."""

    tensors: int = 0
    cut: int = 0
    flipped: int = 0
    refused: int = 0
    read: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """One exchange: what every rank brings, and how it travels."""

    spec: BucketSpec
    inputs: list[Tensor]
    route: str
    steps: int

    @property
    def tensors(self) -> int:
        return len(self.spec.shapes) * len(self.inputs)


def cases(entry: Entry, seed: int) -> Iterator[Case]:
    """Without end; the same for the same seed."""
    chance, numbers = random.Random(seed), np.random.default_rng(seed)
    while True:
        steps = 1 + (chance.random() < 0.1)
        dtype, world = chance.choice(TYPES), chance.choice((1, 1, 2, 3))
        shapes = tuple(_shape(chance) for _ in range(chance.randint(1, 4)))
        spec = BucketSpec(0, tuple(f"p{i}" for i in range(len(shapes))), shapes, dtype)
        most = 0.9 * torch.finfo(dtype).max  # shares of a mean are rounded before they are added up
        top = min(entry.top, most) / (1 if steps == 1 else 8)  # a memory adds up
        ranks = [[_strided(_values(s, top, dtype, chance, numbers), chance) for s in shapes] for _ in range(world)]
        flats = [flatten(tensors, torch.empty(0, dtype=dtype)) for tensors in ranks]
        yield Case(spec, flats, chance.choice(routes(entry.compressor, spec)), steps)


def _shape(chance: random.Random) -> tuple[int, ...]:
    kind = chance.random()
    if kind < 0.05:
        return chance.choice(((0,), (0, 5), (3, 0, 2)))
    if kind < 0.2:
        return chance.choice(((), (1,), (1, 1), (2,), (3,)))
    if kind < 0.6:
        return (chance.choice((7, 8, 13, 64, 65, 127, 257, 300, 1030)),)
    return tuple(chance.randint(1, 12) for _ in range(chance.randint(2, 4 if kind > 0.9 else 3)))[:4]


def _values(
    shape: tuple[int, ...], top: float, dtype: torch.dtype, chance: random.Random, numbers: np.random.Generator
) -> Tensor:
    x = numbers.standard_normal(shape)
    kind = chance.randrange(9)
    if kind == 0:
        x = x * 0
    elif kind == 1:
        x = x * 0 + chance.choice((1.0, -1.0, top, -top, SMALLEST, -0.0, 1e-6))
    elif kind == 2:
        x = np.sign(x) * 10.0 ** numbers.uniform(-45, 38, shape)  # every magnitude there is
    elif kind == 3:
        x = x * SMALLEST * 10
    elif kind == 4:
        x = np.sign(x) * top
    elif kind == 5:
        x = np.where(numbers.random(shape) < 0.02, x * 10.0 ** chance.uniform(-30, 30), 0)
    elif kind == 6:
        x = np.round(x * 3)
    elif kind == 7:
        x = x * 10.0 ** chance.uniform(-40, 37)
    return torch.as_tensor(np.clip(x, -top, top)).to(dtype)


def _strided(x: Tensor, chance: random.Random) -> Tensor:
    """The same shape, and mostly the same numbers, with other strides."""
    kind = chance.randrange(5)
    if kind == 0 and x.dim() > 1:
        return x.transpose(0, -1).contiguous().transpose(0, -1)
    if kind == 1 and x.dim():
        return x.repeat_interleave(2, dim=-1)[..., ::2]
    if kind == 2 and x.dim() and x.shape[0]:
        return x[:1].expand_as(x)
    if kind == 3 and x.dim():
        return torch.cat([x.new_zeros(1), x.reshape(-1)])[1:].view(x.shape)  # starts in the middle of a storage
    return x


def check_exchange(entry: Entry, case: Case) -> None:
    """Through encode and decode, the way it is used; AssertionError says what was wrong."""
    world = World(entry.compressor, len(case.inputs), case.route, case.spec)
    for step in range(case.steps):
        out = world.exchange([x.clone() for x in case.inputs], step)
        for o in out:
            _check_out(o, case)


def _check_out(out: Exchanged, case: Case) -> None:
    for what, t in (("mean", out.mean), ("sent", out.sent)):
        assert t.shape == (case.spec.numel,), f"{what} has the shape {tuple(t.shape)}"
        assert t.dtype == case.spec.dtype, f"{what} is {t.dtype}"
        assert bool(t.isfinite().all()), f"{what} is not finite"
    for name, t in tree.to_dict(out.state).items():
        assert not t.is_floating_point() or bool(t.isfinite().all()), f"{name} of the state is not finite"


class Untouched(Exception):
    """There was no message to damage."""


def check_damage(entry: Entry, case: Case, seed: int, *, cut: bool, checksum: bool) -> bool:
    """One message of one round is cut, or has a bit turned. Was it refused?"""
    chance = random.Random(seed)
    world = World(entry.compressor, len(case.inputs), case.route, case.spec, checksum=checksum)
    programs = [
        entry.compressor.exchange(x.clone(), state, case.spec, Turn(seat, 0))
        for x, state, seat in zip(case.inputs, world.states, world.seats, strict=True)
    ]
    answers: list[Any] = [None] * len(programs)
    victim, skip, damaged = chance.randrange(len(programs)), chance.randrange(2), False
    try:
        while True:
            asks, done = [], []
            for rank, (program, answer) in enumerate(zip(programs, answers, strict=True)):
                try:
                    asks.append(program.send(answer))
                except StopIteration as stop:
                    done.append(stop.value)
                except PayloadError:
                    assert (damaged, rank) == (True, victim), "a message that nobody touched was refused"
                    return True
            if done:
                break
            answers = answer_all(asks, world.links)
            messages = [m for m in _messages(answers[victim]) if bytes(m[:2].tolist()) == MAGIC]
            if messages and not damaged and not (skip := skip - 1) >= 0:
                answers[victim] = _with_damage(answers[victim], chance.choice(messages), chance, cut=cut)
                damaged = True
    finally:
        for program in programs:
            program.close()
    if not damaged:
        raise Untouched
    for what, t in (("mean", done[victim].mean), ("sent", done[victim].sent)):
        assert t.shape == (case.spec.numel,), f"{what} of a damaged message has the shape {tuple(t.shape)}"
        assert t.dtype == case.spec.dtype, f"{what} of a damaged message is {t.dtype}"
    assert not cut, "a message that was cut was read"
    assert not checksum, "a bit was turned, and the checksum did not see it"
    return False


def _messages(answer: Any) -> list[Tensor]:
    if isinstance(answer, list | tuple):
        return [m for a in answer for m in _messages(a)]
    return [answer] if isinstance(answer, Tensor) and answer.dtype == torch.uint8 and answer.numel() > 2 else []


def _with_damage(answer: Any, message: Tensor, chance: random.Random, *, cut: bool) -> Any:
    if isinstance(answer, list | tuple):
        return type(answer)(_with_damage(a, message, chance, cut=cut) for a in answer)
    if answer is not message:
        return answer
    if cut:
        return message[: chance.randrange(message.numel())].clone()
    bad = message.clone()
    bad[chance.randrange(message.numel())] ^= 1 << chance.randrange(8)
    return bad


def fuzz(entry: Entry, tensors: int, damages: int, seed: int = 0, most_faults: int = 3) -> Tally:
    """So many tensors through every encode and decode, then so many damaged messages."""
    tally = Tally()
    for number, case in enumerate(cases(entry, seed)):
        if tally.tensors >= tensors or len(tally.faults) >= most_faults:
            break
        tally.tensors += case.tensors
        _note(tally, lambda case=case: check_exchange(entry, case), f"case {number} of seed {seed}")
    tried = 0
    for number, case in enumerate(cases(entry, seed + 1)):
        if tried >= damages or number >= 4 * damages + 8 or len(tally.faults) >= most_faults:
            break
        if not case.spec.numel:
            continue
        cut, checksum = number % 3 == 0, number % 3 == 1
        refused = _note(
            tally,
            lambda case=case, n=number, cut=cut, checksum=checksum: check_damage(
                entry, case, n, cut=cut, checksum=checksum
            ),
            f"damage {number} of seed {seed}",
        )
        if refused is None:
            continue
        tried += 1
        tally.cut, tally.flipped = tally.cut + cut, tally.flipped + (not cut)
        tally.refused, tally.read = tally.refused + refused, tally.read + (not refused)
    return tally


def _note(tally: Tally, check: Any, where: str) -> Any:
    try:
        return check()
    except Untouched:
        return None
    except Exception as fault:  # noqa: BLE001  (a crash of any kind is what is looked for)
        tally.faults.append(f"{where}: {type(fault).__name__}: {str(fault).splitlines()[0] if str(fault) else ''}")
        return None
