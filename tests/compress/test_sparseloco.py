from __future__ import annotations

import pytest
import torch

from laconic.compress import SparseLoCo
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PayloadError, PlanError
from laconic.core.rng import Stream
from tests.laws.world import World
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


def test_two_of_each_four_in_four_values():
    x = torch.tensor([9.0, -8, 0.1, 0.2, 0.3, -10, 0.4, 9])
    (out,) = World(SparseLoCo(2, chunk=4), 1, "gather", one_tensor(8)).exchange([x])
    # The mean of 9 -8 -10 9 is 0, their deviation 9.0: two cells are in use.
    assert out.sent.tolist() == [9, -9, 0, 0, 0, -9, 0, 9]


def test_outliers_have_cells_of_their_own():
    x = torch.cat([torch.full((20,), 1.0), torch.full((20,), -1.0), torch.tensor([50.0, -50.0])])
    (out,) = World(SparseLoCo(42, chunk=42), 1, "gather", one_tensor(42)).exchange([x.clone()])
    assert torch.equal(out.sent, x)


@pytest.mark.parametrize("k", [1, 8, 64])
def test_every_chunk_has_its_k_largest(k: int):
    x = noise(1000, 3) + 3.0
    (out,) = World(SparseLoCo(k, chunk=64), 1, "gather", one_tensor(1000)).exchange([x.clone()])
    for start in range(0, 1000, 64):
        said = out.sent[start : start + 64].nonzero().view(-1)
        size = min(64, 1000 - start)
        largest = x[start : start + 64].abs().topk(min(k, size)).indices.sort().values
        assert torch.equal(said, largest)


def test_fourteen_bits_an_element_and_four_values():
    assert SparseLoCo().payload_bits(one_tensor(4096 * 10)) == 4 * 32 + 640 * 14
    assert SparseLoCo(8, chunk=64).payload_bits(one_tensor(640)) == 4 * 32 + 80 * 8


def test_the_claimed_share_is_kept_on_hard_inputs():
    for x in (noise(128, 4), torch.cat([torch.ones(1), torch.full((127,), 1e-3)]), noise(128, 5) ** 7):
        c = SparseLoCo(16, chunk=64)
        aux, parts = c.encode(x, DRAW)
        left = float((x - c.decode(parts, 128, aux, DRAW)).double().pow(2).sum() / x.double().pow(2).sum())
        delta = c.traits(one_tensor(128)).delta
        assert delta == 0.25 / 32
        assert left <= 1 - delta


def test_a_place_outside_the_bucket_is_refused():
    c = SparseLoCo(2, chunk=64)
    aux, (means, places, cells) = c.encode(noise(10), DRAW)
    places |= 0x3F
    with pytest.raises(PayloadError, match="names elements"):
        c.decode((means, places, cells), 10, aux, DRAW)


@pytest.mark.parametrize("bad", [{"chunk": 1}, {"chunk": 2**17}, {"k": 0}, {"k": 65, "chunk": 64}])
def test_bad_settings_are_refused(bad: dict[str, int]):
    with pytest.raises(PlanError, match="sparseloco"):
        SparseLoCo(**bad)
