"""Asynchronous gossip: a thread beside the training averages this worker's model with one neighbour at a time.

    training       step(x):  add what x has moved to the model, take the model as it is now, let the thread know
    who asks       s = the model;  OFFER s to someone across;  ANSWER y comes back;  model += (y - s)/2
    who is asked   OFFER s comes;  y = the model;  model += (s - y)/2;  ANSWER y

The model changes only under a lock, and the sum of both models stays what it was, whatever steps came in between. One
meeting a step at most: steps that end while a meeting is under way do not start another. A neighbour that left is not
asked again; one that died is an error at the next step. What exactly is said is up to drive/speech.py.

With a `bound` neighbours also tell each other their clocks after every step, and a step waits until no neighbour is
further behind (`ssp` over gossip). Who rests is not waited for.

Models that are loaded, or agreed upon, begin a new epoch. Workers load when they come to it, not all at once: one in an
earlier epoch is not heard (what it says is of another model), and an offer from a later one is kept until I am there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import torch
from torch import Tensor

from laconic.core.errors import LaconicError, PeerError
from laconic.core.rng import Stream
from laconic.drive.speech import Speech
from laconic.net.frames import FIRST_OWN, Kind, Tag
from laconic.net.link import Link
from laconic.net.mailbox import Mailbox
from laconic.net.peer import Letter

OFFER, ANSWER, CLOCK = FIRST_OWN, FIRST_OWN + 1, FIRST_OWN + 2
_LOOK_UP_S = 0.05
_QUICK_S = 0.002  # where a neighbour may wait for my clock
_RESTING = 1 << 62


def name_of(rank: int) -> str:
    return f"Rank {rank}"


class Pairs:
    """`across`: those this worker asks; empty on the side that is asked. The mailbox is the thread's from here on.

    Nobody may step before all have met: who is not there yet is not waited for, and not told the time."""

    def __init__(
        self,
        models: Sequence[Tensor],
        box: Mailbox,
        across: Sequence[int],
        chance: Stream,
        link: Link,
        timeout_s: float,
        speech: Speech | None = None,
        bound: int | None = None,
    ) -> None:
        self._models, self._seen = _wide(models), [x.clone() for x in models]
        self._speech, self.bound = speech or Speech(), bound
        self._speech.reset(self._models)
        self._look_up_s = _LOOK_UP_S if bound is None else _QUICK_S
        self.staleness = self._clock = self._told = self._epoch = 0
        self._resting = False
        self._clocks: dict[str, tuple[int, int]] = {}  # of neighbours: the epoch, and the clock in it
        self._early: list[Letter] = []  # offers from epochs that I have not begun
        self._box, self._across, self._chance, self._link = box, [name_of(r) for r in across], chance, link
        self._asks, self._timeout_s = bool(across), timeout_s
        self._lock = threading.Condition()
        self._due = self._busy = self._closing = False
        self._why = ""  # of my leave
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
            self._clock += int(meet)
            self._resting = self._resting and not meet
            self._lock.notify_all()
            if self.bound is not None and meet:
                self._keep_bound(self.bound)
            return self._seen

    def _keep_bound(self, bound: int) -> None:
        """Nobody around me is further behind when I go on."""

        def clocks() -> dict[str, int]:
            told = {name: self._clocks.get(name, (0, 0)) for name in self._box.peers}
            return {name: self._in_my_epoch(epoch, clock) for name, (epoch, clock) in told.items()}

        def behind() -> int:
            return max(0, self._clock - min(clocks().values(), default=self._clock))

        if not self._lock.wait_for(lambda: behind() <= bound or self._error is not None, self._timeout_s):
            late = [f"{name} (step {clock})" for name, clock in clocks().items() if self._clock - clock > bound]
            raise PeerError(
                f"{self._box.name} waited {self._timeout_s:g} s after step {self._clock} for {', '.join(late)} in vain."
            )
        self._complain()
        self.staleness = max(self.staleness, behind())
        assert self.staleness <= bound, f"the bound of {bound} was broken: {self.staleness}"

    def _in_my_epoch(self, epoch: int, clock: int) -> int:
        """Who is in an earlier one has not begun; who is in a later one does not wait for me, nor I for it."""
        return clock if epoch == self._epoch else 0 if epoch < self._epoch else _RESTING

    def reset(self, models: Sequence[Tensor], *, equal: bool = True) -> None:
        """Go on from here, in a new epoch: the others are there, or will be when they have loaded theirs. `equal`: with
        the same models."""
        with self._lock:
            self._models, self._seen = _wide(models), [x.clone() for x in models]
            self._speech.reset(self._models, equal=equal)
            self._clock = self._told = 0
            self._resting = False
            self._epoch += 1
            self._lock.notify_all()

    def rest(self) -> None:
        """Wait until no meeting that this worker asked for is under way."""
        with self._lock:
            self._due, self._resting = False, True
            if not self._lock.wait_for(lambda: not self._busy or self._error is not None, self._timeout_s):
                raise PeerError(f"{self._box.name} waited {self._timeout_s:g} s for the end of a meeting in vain.")
            self._complain()

    def close(self, why: str = "") -> None:
        """`why`: something went wrong here; neighbours then stop, too, and a next step is refused."""
        with self._lock:
            if why:
                self._why, self._error = why, PeerError(f"{self._box.name} has taken leave of its neighbours: {why}")
            self._closing = True
            self._lock.notify_all()
        if threading.current_thread() is not self._thread:  # where Python may happen to collect a replica
            self._thread.join()

    def _complain(self) -> None:
        if self._error is not None:
            raise self._error

    # ------------------------------------------------------------- the thread's side

    def _run(self) -> None:
        try:
            while not self._closing:
                self._tell_clock()
                self._ask() if self._asks else self._listen()
        except LaconicError as error:
            self._error = error
        except Exception as error:  # noqa: BLE001  (whatever it was, the training raises it instead of waiting)
            self._error = PeerError(f"{self._box.name} cannot meet anybody any more: {type(error).__name__}: {error}.")
            self._error.__cause__ = error
        finally:
            with self._lock:
                self._busy = False
                self._lock.notify_all()
            self._box.close(self._why)

    def _listen(self) -> None:
        early, self._early = self._early, []
        for offer in early:
            self._consider(offer)
        letter = self._box.receive(self._look_up_s)
        if letter is None:
            return
        self._look(letter)
        if letter.kind == OFFER:
            self._consider(letter)

    def _consider(self, offer: Letter) -> None:
        peer, bucket, epoch = offer.sender, offer.tag.bucket, offer.tag.part
        with self._lock:
            if epoch > self._epoch:
                self._early.append(offer)
            if epoch != self._epoch:
                return
            self._speech.read(peer, bucket, offer.payload, offer.tag.step)
            mine, number = self._speech.write(peer, bucket, self._models[bucket])
            self._models[bucket] += self._speech.change(peer, bucket)
            self.meetings += 1
        self._send(peer, ANSWER, mine, offer.tag._replace(step=number))

    def _ask(self) -> None:
        with self._lock:
            self._lock.wait_for(lambda: self._due or self._closing, self._look_up_s)
            due = self._due and not self._closing
            self._due, self._busy = self._due and not due, due
        if not due:
            self._hear_clocks()
            return
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
        epoch = self._epoch
        for bucket in range(len(self._models)):
            with self._lock:
                if epoch != self._epoch:
                    return
                mine, number = self._speech.write(partner, bucket, self._models[bucket])
            self._send(partner, OFFER, mine, Tag(step=number, bucket=bucket, part=epoch))
            answer = self._answer(partner, bucket, epoch)
            with self._lock:
                if answer is None or epoch != self._epoch:
                    return
                self._speech.read(partner, bucket, answer.payload, answer.tag.step)
                self._models[bucket] += self._speech.change(partner, bucket)
        self.meetings += 1

    def _tell_clock(self) -> None:
        """To all around me, once a step."""
        with self._lock:
            clock, epoch = _RESTING if self._resting else self._clock, self._epoch
        if self.bound is not None and clock != self._told:
            self._told = clock
            for name in self._box.peers:
                self._send(name, CLOCK, torch.empty(0), Tag(step=epoch), clock)

    def _hear_clocks(self) -> None:
        while self.bound is not None and (letter := self._box.receive(0.0)) is not None:
            self._look(letter)

    def _answer(self, partner: str, bucket: int, epoch: int) -> Letter | None:
        """None: the partner left instead, or I have begun another epoch."""
        end = time.monotonic() + self._timeout_s
        while True:
            self._tell_clock()
            letter = self._box.receive(self._look_up_s)
            if letter is None:
                if partner not in self._box.peers or self._closing or epoch != self._epoch:
                    return None
                if time.monotonic() > end:
                    raise PeerError(
                        f"{self._box.name} waited {self._timeout_s:g} s for the answer of {partner} in vain: it hangs, "
                        f"or only one of the two has loaded a model."
                    )
                continue
            self._look(letter)
            where = letter.sender, letter.tag.bucket, letter.tag.part
            if letter.kind == ANSWER and where == (partner, bucket, epoch):
                return letter

    def _look(self, letter: Letter) -> None:
        """Refuses what cannot be: a neighbour that died or stopped for a reason, a model of another shape."""
        if letter.kind == Kind.LOST:
            raise PeerError(f"{self._box.name} lost {letter.sender}: {letter.text}. See that rank's own output.")
        if letter.kind == Kind.BYE and letter.text:
            raise PeerError(f"{self._box.name} was left by {letter.sender}: {letter.text}")
        if letter.kind in (CLOCK, Kind.BYE):  # who has left is not waited for any more
            with self._lock:
                if letter.kind == CLOCK:
                    self._clocks[letter.sender] = letter.tag.step, letter.word
                self._lock.notify_all()
        if letter.kind in (OFFER, ANSWER):
            fits = letter.tag.bucket < len(self._models)
            mine = self._models[letter.tag.bucket] if fits else torch.empty(0)
            if not fits or not self._speech.fits(letter.tag.bucket, letter.payload, mine, letter.tag.step):
                raise PeerError(f"{letter.sender} sent what does not fit bucket {letter.tag.bucket} of this model.")

    def _send(self, to: str, kind: int, model: Tensor, tag: Tag, word: int = 0) -> None:
        if to in self._box.peers:
            sent = self._box.send(to, kind, model, tag, word)
            with self._lock:
                self._link.send(sent, 1)


def _wide(models: Sequence[Tensor]) -> list[Tensor]:
    """Copies on the CPU in at least float32: half a small difference must not vanish."""
    return [x.to("cpu", torch.promote_types(x.dtype, torch.float32), copy=True) for x in models]
