"""The measurement for real. Whether the rates hold depends on how busy the machine is; that the answer is honest does
not."""

from __future__ import annotations

import re

import pytest

from tests.lab.machine import laconic, needs_lab

pytestmark = [needs_lab, pytest.mark.timeout(300)]


def test_every_link_is_measured_both_ways_and_the_exit_code_is_the_verdict() -> None:
    code, out, err = laconic("lab", "check", "--hosts", "2", "--rate", "1gbit", "--down", "1=200mbit").finished()
    assert err == ""
    for route, asked in (("host0 -> host1", "200mbit"), ("host1 -> host0", "1gbit")):
        for size in ("64 KB", "256 KB", "1 MB", "16 MB"):
            assert re.search(rf"{route} +{size} +{asked} ", out), out
        assert re.search(rf"{route} +1 byte  latency [\d.]+ [mu]?s", out), out
    assert (code == 0) == ("The lab holds its rates" in out)
    assert (code == 1) == bool(re.search(r"  off$", out, flags=re.MULTILINE))
