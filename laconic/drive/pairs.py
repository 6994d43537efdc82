"""Asynchronous gossip: a thread beside the training averages this worker's model with one neighbour at a time.

    training       step(x):  add what x has moved to the model, take the model as it is now, let the thread know
    who asks       s = the model;  OFFER s to someone across;  ANSWER y comes back;  model += (y - s)/2
    who is asked   OFFER s comes;  y = the model;  model += (s - y)/2;  ANSWER y

The model changes only under a lock, and the sum of both models stays what it was, whatever steps came in between. One
meeting a step at most: steps that end while a meeting is under way do not start another. A neighbour that left is not
asked again; one that died is an error at the next step.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import torch
from torch import Tensor

from laconic.core.errors import LaconicError, PeerError
from laconic.core.rng import Stream
from laconic.net.frames import FIRST_OWN, Kind, Tag
from laconic.net.link import Link
from laconic.net.mailbox import Mailbox
from laconic.net.peer import Letter

OFFER, ANSWER = FIRST_OWN, FIRST_OWN + 1
_LOOK_UP_S = 0.05


def name_of(rank: int) -> str:
    return f"gossip/{rank}"


class Pairs:
    """`across`: those this worker asks; empty on the side that is asked. The mailbox is the thread's from here on."""

    def __init__(
        self,
        models: Sequence[Tensor],
        box: Mailbox,
        across: Sequence[int],
        chance: Stream,
        link: Link,
        timeout_s: float,
    ) -> None:
        self._models, self._seen = _wide(models), [x.clone() for x in models]
        self._box, self._across, self._chance, self._link = box, [name_of(r) for r in across], chance, link
        self._asks, self._timeout_s = bool(across), timeout_s
        self._lock = threading.Condition()
        self._due = self._busy = self._closing = False
        self._error: LaconicError | None = None
        self.meetings = 0
        self._thread = threading.Thread(target=self._run, name="laconic-pairs", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------- the training's side

    def step(self, after: Sequence[Tensor], *, meet: bool = True) -> list[Tensor]:
        """These parameters have moved; the ones to go on with."""
        with self._lock:
            self._complain()
            for model, seen, x in zip(self._models, self._seen, after, strict=True):
                model.add_(x.to(model) - seen.to(model))
            self._seen = [m.to(x.dtype, copy=True) for m, x in zip(self._models, after, strict=True)]
            self._due = self._due or (meet and self._asks)
            self._lock.notify_all()
            return self._seen

    def reset(self, models: Sequence[Tensor]) -> None:
        """Go on from here; to be called where nobody meets."""
        with self._lock:
            self._models, self._seen = _wide(models), [x.clone() for x in models]

    def rest(self) -> None:
        """Wait until no meeting that this worker asked for is under way."""
        with self._lock:
            self._due = False
            if not self._lock.wait_for(lambda: not self._busy or self._error is not None, self._timeout_s):
                raise PeerError(f"{self._box.name} waited {self._timeout_s:g} s for the end of a meeting in vain.")
            self._complain()

    def close(self) -> None:
        with self._lock:
            self._closing = True
            self._lock.notify_all()
        self._thread.join()

    def _complain(self) -> None:
        if self._error is not None:
            raise self._error

    # ------------------------------------------------------------- the thread's side

    def _run(self) -> None:
        try:
            while not self._closing:
                self._ask() if self._asks else self._listen()
        except LaconicError as error:
            self._error = error
        finally:
            with self._lock:
                self._busy = False
                self._lock.notify_all()
            self._box.close()

    def _listen(self) -> None:
        letter = self._box.receive(_LOOK_UP_S)
        if letter is None:
            return
        self._look(letter)
        if letter.kind == OFFER:
            with self._lock:
                mine = self._models[letter.tag.bucket].clone()
                self._models[letter.tag.bucket] += (letter.payload - mine) / 2
                self.meetings += 1
            self._send(letter.sender, ANSWER, mine, letter.tag)

    def _ask(self) -> None:
        with self._lock:
            self._lock.wait_for(lambda: self._due or self._closing, _LOOK_UP_S)
            if not self._due or self._closing:
                return
            self._due, self._busy = False, True
        try:
            self._meet()
        finally:
            with self._lock:
                self._busy = False
                self._lock.notify_all()

    def _meet(self) -> None:
        here = [name for name in self._across if name in self._box.peers]
        if not here:
            return
        self._chance = self._chance.child(1)
        partner = here[int(self._chance.words(1)) % len(here)]
        for bucket in range(len(self._models)):
            with self._lock:
                mine = self._models[bucket].clone()
            self._send(partner, OFFER, mine, Tag(bucket=bucket))
            theirs = self._answer(partner, bucket)
            if theirs is None:
                return
            with self._lock:
                self._models[bucket] += (theirs - mine) / 2
        self.meetings += 1

    def _answer(self, partner: str, bucket: int) -> Tensor | None:
        """None: the partner left instead."""
        while True:
            letter = self._box.receive(_LOOK_UP_S)
            if letter is None:
                if partner not in self._box.peers or self._closing:
                    return None
                continue
            self._look(letter)
            if letter.kind == ANSWER and letter.sender == partner and letter.tag.bucket == bucket:
                return letter.payload

    def _look(self, letter: Letter) -> None:
        """Refuses what cannot be: a dead neighbour, a model of another shape."""
        if letter.kind == Kind.LOST:
            raise PeerError(f"{self._box.name} lost {letter.sender}: {letter.text}. See that rank's own output.")
        if letter.kind in (OFFER, ANSWER):
            fits = letter.tag.bucket < len(self._models)
            mine = self._models[letter.tag.bucket] if fits else torch.empty(0)
            if not fits or letter.payload.shape != mine.shape or letter.payload.dtype != mine.dtype:
                raise PeerError(f"{letter.sender} sent what does not fit bucket {letter.tag.bucket} of this model.")

    def _send(self, to: str, kind: int, model: Tensor, tag: Tag) -> None:
        if to in self._box.peers:
            sent = self._box.send(to, kind, model, tag)
            with self._lock:
                self._link.send(sent, 1)


def _wide(models: Sequence[Tensor]) -> list[Tensor]:
    """Copies on the CPU in at least float32: half a small difference must not vanish."""
    return [x.to("cpu", torch.promote_types(x.dtype, torch.float32), copy=True) for x in models]
