from __future__ import annotations

import pytest
import torch

from laconic.compress import RandomK, Wangni
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PayloadError, PlanError
from laconic.core.rng import Stream
from laconic.kernels import reference_sparse as kernel
from tests.laws.world import World
from tests.zoo import noise


def draw(salt: int) -> Draw:
    return Draw(Stream(salt), Stream(0))


def test_large_elements_are_exact_and_the_others_all_have_one_magnitude():
    # k = 2: 4 is certain; of 1 + 1 one is said, each with p = 1/2 and as +-2.
    x = torch.tensor([4.0, -1, 0, 1])
    seen = set()
    for i in range(40):
        aux, parts = Wangni(0.5).encode(x, draw(i))
        seen.add(tuple(Wangni(0.5).decode(parts, 4, aux, draw(0)).tolist()))
    assert seen == {(4, 0, 0, 0), (4, -2, 0, 0), (4, 0, 0, 2), (4, -2, 0, 2)}


def test_words_by_hand():
    aux, (words,) = Wangni(0.5).encode(torch.tensor([4.0, -1, 0, 0]), draw(0))  # two elements, room for two
    assert aux == words.numel() == 6
    assert words[:4].tolist() == [2, 0, 0, 1]
    assert words[4:].view(torch.float32).tolist() == [4, -1]


def test_a_sign_stands_in_the_top_bit_of_an_index():
    x = torch.cat([torch.tensor([100.0]), torch.full((9,), -1.0)])
    words = next(w for i in range(99) for _, (w,) in [Wangni(0.2).encode(x, draw(i))] if w.numel() == 5)
    assert words[0] == 1
    assert words[4] < 0
    assert 1 <= int(words[4] & 0x7FFFFFFF) <= 9


def test_the_expected_number_of_elements_is_k():
    x = noise(1000, 1) ** 3
    counts = []
    for i in range(60):
        _, (words,) = Wangni(0.05).encode(x, draw(i))
        exact = int(words[0])
        counts.append(words.numel() - 2 - exact)
    assert sum(counts) / 60 == pytest.approx(50, abs=4)


def test_the_second_moment_is_below_that_of_uniform_sampling_and_as_the_formula_says():
    x = noise(400, 2) ** 3
    k = 40
    tau = kernel.fair_threshold(x.abs(), k)
    p = (x.abs().double() / tau).clamp(max=1)
    formula = float((x.double() ** 2 / p).sum())
    moments = []
    for i in range(300):
        aux, parts = Wangni(0.1).encode(x, draw(i))
        moments.append(float(Wangni(0.1).decode(parts, 400, aux, draw(0)).double().pow(2).sum()))
    assert sum(moments) / 300 == pytest.approx(formula, rel=0.05)
    omega = RandomK(0.1).traits(one_tensor(400)).omega
    assert omega is not None
    assert formula < 0.3 * (1 + omega) * float(x.double().pow(2).sum())


def test_zeros_are_never_drawn():
    (out,) = World(Wangni(0.5), 1, "gather", one_tensor(4)).exchange([torch.zeros(4)])
    assert not out.sent.any()


@pytest.mark.parametrize("count", [-1, 3])
def test_a_message_that_counts_wrongly_is_refused(count: int):
    aux, (words,) = Wangni(0.5).encode(torch.tensor([4.0, -1, 0, 0]), draw(0))
    words[0] = count
    with pytest.raises(PayloadError, match="claims to hold"):
        Wangni(0.5).decode((words,), 4, aux, draw(0))


def test_a_share_outside_zero_to_one_is_refused():
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        Wangni(1.1)
