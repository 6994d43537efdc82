"""A lab's description: who has which rate, and what is refused before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from laconic.core.errors import UsageError
from laconic.lab.spec import LabSpec


def test_a_host_has_its_own_rate_where_one_is_given() -> None:
    spec = LabSpec(3, 100, up={1: 10}, down={2: 20}, slow={0: 0.25})
    assert [spec.up_of(host) for host in range(3)] == [100, 10, 100]
    assert [spec.down_of(host) for host in range(3)] == [100, 100, 20]
    assert [spec.share_of(host) for host in range(3)] == [0.25, 1.0, 1.0]


def test_a_path_is_as_fast_as_its_slower_link() -> None:
    spec = LabSpec(3, None, up={1: 10}, down={2: 20})
    assert spec.path_rate(1, 2) == 10
    assert spec.path_rate(0, 2) == 20
    assert spec.path_rate(2, 0) is None


def test_only_delay_jitter_and_loss_need_netem() -> None:
    assert not LabSpec(2, 10**6, up={0: 5}, slow={0: 0.5}).needs_netem
    assert LabSpec(2, delay_s=0.02, jitter_s=0.01).needs_netem
    assert LabSpec(2, loss=0.01).needs_netem


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"hosts": 0}, "1 to 200"),
        ({"hosts": 2, "up": {2: 5}}, "--up names host 2, but the hosts are 0 to 1"),
        ({"hosts": 2, "slow": {0: 0.0}}, "--slow 0=0"),
        ({"hosts": 2, "delay_s": 0.1, "jitter_s": 0.2}, "before it was sent"),
    ],
)
def test_what_cannot_be_is_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        LabSpec(**fields)


def test_a_lab_is_described_in_words() -> None:
    text = str(LabSpec(4, 10**8, up={2: 10**7}, slow={1: 0.25}, delay_s=0.02))
    assert text == "4 hosts, 100mbit, host 2 up 10mbit, host 1 runs 25% of the time, delay 20 ms +- 0 ms"
