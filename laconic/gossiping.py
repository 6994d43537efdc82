"""A replica that gossips: its own step, then its model along the graph.

    optimizer.step()   as if alone;  then `mix`: look for NaN, send my model, hear my neighbours', go on with the mix

There is no vote: a rank that finds NaN or infinity says so, sends nothing and stops alone; its neighbours learn its
reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import Tensor

from laconic.buckets import Bucket
from laconic.compress import AbstractCompressor, Identity, letters
from laconic.compress.identity import average
from laconic.core.errors import NonFiniteError
from laconic.core.exchange import Exchange, Seat, Turn
from laconic.core.payload import Part, blank
from laconic.drive.apart import Apart
from laconic.drive.base import Place
from laconic.drive.lanes import Lanes
from laconic.drive.pairs import Pairs
from laconic.drive.torch_dist import TorchDist
from laconic.plan import Plan
from laconic.topology import Gossip
from laconic.topology.graph import Hood
from laconic.topology.mixing import DPSGD, AbstractMixing
from laconic.topology.mixing.base import Around

if TYPE_CHECKING:
    from laconic.replica import Replica


def mixed_by(topology: Gossip, compress: AbstractCompressor, bucket: Bucket) -> AbstractMixing:
    """Small tensors beside a compressor travel whole: they are simply averaged."""
    return DPSGD() if bucket.plain and compress != Identity() else topology.by


class Gossiping:
    """Which algorithm mixes which bucket, with whom."""

    def __init__(self, plan: Plan, seat: Seat) -> None:
        assert isinstance(plan.topology, Gossip), "only gossip mixes models"
        self.topology = plan.topology.settle(seat.world)
        self.seat, self._compress = seat, plan.compress
        self.pairs: Pairs | None = None  # where neighbours meet beside the training

    def by(self, bucket: Bucket) -> AbstractMixing:
        return mixed_by(self.topology, self._compress, bucket)

    def fresh(self, buckets: Sequence[Bucket]) -> list[Any]:
        """States for models that are equal on all ranks."""
        hood = self._around(0)
        return [self.by(b).init(b.values(), b.spec, self.seat, hood) for b in buckets]

    def restart(self, replica: Replica, *, equal: bool) -> None:
        """Models are equal on all ranks again, or were loaded."""
        replica.state = self.fresh(replica.buckets)
        if self.pairs is not None:
            self.pairs.reset([bucket.values() for bucket in replica.buckets], equal=equal)

    def close(self) -> None:
        if self.pairs is not None:
            self.pairs.close()
            self.pairs = None

    def program(self, bucket: Bucket, x: Tensor, state: Any, turn: Turn) -> Exchange:
        by = self.by(bucket)
        at = Around(bucket.spec, turn, self._around(turn.step), letters.desk(bucket.compress, by, bucket.spec, turn))
        return by.mix(x, state, at)

    def _around(self, step: int) -> Hood:
        return self.topology.graph.weights(self.seat.world, step, self.seat.seed).around(self.seat.rank)


def mix(replica: Replica, gossiping: Gossiping) -> None:
    """Models change only after all of them have been heard."""
    flats = [_values(bucket) for bucket in replica.buckets]
    check_finite(replica, flats)
    if gossiping.pairs is not None:
        _meet(replica, gossiping.pairs, flats)
    elif gossiping.topology.by.waits:
        _swap(replica, gossiping, flats)
    replica.turns += 1
    replica.since = 0


def _swap(replica: Replica, gossiping: Gossiping, flats: Sequence[Tensor]) -> None:
    for bucket, flat, state in zip(replica.buckets, flats, replica.state, strict=True):
        turn = Turn(gossiping.seat, replica.turns)
        program = gossiping.program(bucket, flat, state, turn)
        replica.driver.launch(Place(replica.turns, bucket.spec.id, bucket.spec.names[0]), program)
    outs = replica.driver.finish()
    for bucket, out in zip(replica.buckets, outs, strict=True):
        bucket.write_values(out.mean)
    replica.state = [out.state for out in outs]


def _meet(replica: Replica, pairs: Pairs, flats: Sequence[Tensor]) -> None:
    for bucket, flat in zip(replica.buckets, pairs.step(flats), strict=True):
        bucket.write_values(flat)


def _rest(replica: Replica, pairs: Pairs) -> None:
    """Until nobody meets; models are then what meetings have made of them."""
    pairs.rest()
    barrier(replica, "the end of all meetings")
    models = pairs.step([bucket.values() for bucket in replica.buckets], meet=False)
    for bucket, flat in zip(replica.buckets, models, strict=True):
        bucket.write_values(flat)


def barrier(replica: Replica, what: str) -> None:
    replica.driver.launch(Place(replica.turns, 0, what), average(torch.zeros(1)))
    replica.driver.finish()


def agree(replica: Replica, gossiping: Gossiping) -> None:
    """All ranks go on with one model."""
    if gossiping.pairs is not None:
        _rest(replica, gossiping.pairs)
    for bucket, state in zip(replica.buckets, replica.state, strict=True):
        program = gossiping.by(bucket).agree(bucket.values(), state)
        replica.driver.launch(Place(replica.turns, bucket.spec.id, "the mean of all models"), program)
    for bucket, out in zip(replica.buckets, replica.driver.finish(), strict=True):
        bucket.write_values(out.mean)
    gossiping.restart(replica, equal=True)
    replica.since = 0
    if gossiping.pairs is not None:
        barrier(replica, "the end of the agreement")  # nobody meets one who is not there yet


def consensus_distance(replica: Replica) -> float:
    """sqrt(1/n sum_i |x_i - mean|^2) over all parameters."""
    if replica.gossiping is not None and replica.gossiping.pairs is not None:
        _rest(replica, replica.gossiping.pairs)
    flats = [bucket.values() for bucket in replica.buckets]
    for bucket, flat in zip(replica.buckets, flats, strict=True):
        place = Place(replica.turns, bucket.spec.id, "consensus distance")
        replica.driver.launch(place, average(flat.clone()))
    means = [out.mean for out in replica.driver.finish()]
    squares = [(x.double() - mean.double()).square().sum() for x, mean in zip(flats, means, strict=True)]
    total = torch.stack(squares).sum().reshape(1)
    replica.driver.launch(Place(replica.turns, len(replica.buckets), "consensus distance"), average(total))
    return float(replica.driver.finish()[0].mean.sqrt())


def check_finite(replica: Replica, flats: Sequence[Tensor]) -> None:
    """A model with NaN in it is not sent to anyone: its rank stops alone. `flats`: its values, bucket by bucket."""
    for bucket, flat in zip(replica.buckets, flats, strict=True):
        bad = bucket.bad(flat)
        if any(bad):
            name = bucket.spec.names[bad.index(True)]
            stop(
                replica,
                f"Rank {replica.seat.rank} found NaN or infinity in {name!r} of its model after step {replica.steps}. "
                f"It was not sent to anyone. Lower the learning rate or clip.",
            )


def stop(replica: Replica, sentence: str) -> NoReturn:
    """This rank ends alone; those who wait for it learn why."""
    if isinstance(replica.driver, TorchDist | Lanes | Apart):
        replica.driver.roster.give_up(f"stopped: {sentence.rstrip('.')}")
    if replica.gossiping is not None and replica.gossiping.pairs is not None:
        replica.gossiping.pairs.close(sentence)
    raise NonFiniteError(sentence)


def _values(bucket: Bucket) -> Tensor:
    """The model, in the message that it will travel in if it travels whole."""
    (flat,) = blank((Part(bucket.spec.dtype, bucket.spec.numel),), bucket.device)
    return torch.cat([p.detach().reshape(-1) for p in bucket.params], out=flat)
