from __future__ import annotations

from pathlib import Path

import pytest

from laconic.core.errors import UsageError
from laconic.net.interface import TABLE, transmitted_bytes
from laconic.net.link import Link

TEXT = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 1000     10    0    0    0     0          0         0     2000      20    0    0    0     0       0          0
  eth0:12345678 99 0 0 0 0 0 0 87654321 88 0 0 0 0 0 0
"""


def test_the_sent_bytes_are_read_also_where_numbers_touch_the_name(tmp_path: Path):
    table = tmp_path / "dev"
    table.write_text(TEXT)
    assert transmitted_bytes("lo", table) == 2000
    assert transmitted_bytes("eth0", table) == 87654321


def test_a_wrong_interface_is_named_with_those_that_exist(tmp_path: Path):
    table = tmp_path / "dev"
    table.write_text(TEXT)
    with pytest.raises(UsageError, match=r"LACONIC_INTERFACE=eth7: .* only lo, eth0"):
        transmitted_bytes("eth7", table)
    with pytest.raises(UsageError, match="cannot be read"):
        transmitted_bytes("lo", tmp_path / "absent")


@pytest.mark.skipif(not TABLE.exists(), reason="Linux counts here")
def test_a_link_that_watches_counts_from_there():
    link = Link()
    assert link.tx_bytes is None
    link.watch("lo")
    assert link.tx_bytes is not None
    assert link.tx_bytes >= 0
    link.watch(None)
    assert link.tx_bytes is None
