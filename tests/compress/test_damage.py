"""Messages that were cut short or altered on the way: an error or numbers, never a crash or another shape."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from laconic.compress.one_shot import AbstractOneShot, Desk
from laconic.core.bucket import one_tensor
from laconic.core.errors import PayloadError
from laconic.core.exchange import Seat, Turn
from laconic.core.payload import HEADER_BYTES
from laconic.core.rng import Stream
from laconic.topology import AllReduce
from tests.zoo import ZOO, noise

CODECS = [e.compressor for e in ZOO if isinstance(e.compressor, AbstractOneShot)]
AUX = slice(HEADER_BYTES - 8, HEADER_BYTES - 4)


def desk(codec: AbstractOneShot, numel: int) -> Desk:
    return Desk(codec, one_tensor(numel), Turn(Seat(0, 1, AllReduce()), 0))


def check_survives(codec: AbstractOneShot, message: Tensor, numel: int) -> None:
    try:
        out = desk(codec, numel).read([(message, numel, 0)], torch.empty(0), 1.0)
    except PayloadError:
        return
    assert out.shape == (numel,)
    assert out.dtype == torch.float32


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_damaged_messages_are_refused_or_read(codec: AbstractOneShot):
    for numel in (1, 7, 200):
        whole = desk(codec, numel).write(noise(numel, 4), salt=0)
        words = Stream(numel).words(120).tolist()
        for place, bit in zip(words[:60], words[60:], strict=True):
            message = whole.clone()
            at = HEADER_BYTES + place % max(1, whole.numel() - HEADER_BYTES)
            message[min(at, whole.numel() - 1)] ^= 1 << bit % 8
            check_survives(codec, message, numel)
            check_survives(codec, whole[: place % whole.numel()], numel)
        for count in (0, 1, 3, numel - 1, numel, numel + 1, 2**31, 2**32 - 1):
            message = whole.clone()
            message[AUX] = torch.tensor([count]).view(torch.uint8)[:4]
            check_survives(codec, message, numel)
