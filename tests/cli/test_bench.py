"""The benchmark's report: one line a compressor and size, the same in JSON. No test asserts how fast anything is."""

from __future__ import annotations

import json

import pytest
import torch

from laconic.catalogue import catalogue
from laconic.cli import bench, main
from laconic.cli.bare import BARE
from laconic.cli.jobs import job_of, matrix
from laconic.cli.measure import Measured, Speed, measure
from laconic.compress import AbstractCompressor, ErrorFeedback, PowerSGD, Sign, TopK


def alone(compressor: AbstractCompressor, n: int) -> Measured:
    (row,) = measure({str(compressor): lambda x: job_of(compressor, x)}, n, 0.0)
    return row


QUICK = ("--sizes", "2000", "--seconds", "0")


def test_a_line_for_every_compressor_and_size(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["bench", "kernels", "--only", "qsgd(4)", "ef(topk(0.01))", "--sizes", "1e3", "2000", "--seconds", "0"]
    assert main(argv) == 0
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()[3:]]
    assert rows == [["qsgd(4)", "1000"], ["ef(topk(0.01))", "1000"], ["qsgd(4)", "2000"], ["ef(topk(0.01))", "2000"]]


def test_without_a_choice_it_is_the_whole_catalogue() -> None:
    names = {str(plan) for plan in bench._plans(None)}
    assert {e.usage for e in catalogue() if e.folder == "compress"} - {"none"} <= names
    assert names < set(bench._jobs(None)), "and the kernels by themselves"


@pytest.mark.parametrize("name", BARE)
def test_kernels_by_themselves_are_measured_too(name: str) -> None:
    (row,) = measure({name: BARE[name]}, 3000, 0.0)
    assert row.compressor == name
    assert row.decode is not None
    assert 1.5 < row.bits < 9.5


def test_json_says_where_and_what(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "kernels", "--json", "--only", "sign", "powersgd(1)", *QUICK]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert "processor" in seen["machine"]
    sign, low_rank = seen["rows"]
    assert set(sign) == {"compressor", "elements", "bits", "encode", "decode", "gbit_s", "slower", "pays"}
    assert sign["bits"] == pytest.approx(8 * (4 * 1 + 250) / 2000)
    assert sign["decode"]["of_copy"] > 0
    assert low_rank["decode"] is None, "an all-reduce has nothing to decode by itself"


def test_plain_torch_is_measured_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "kernels", "--reference", "--only", "sign", *QUICK]) == 0
    assert "x plain torch" in capsys.readouterr().out


def test_what_is_no_compressor_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "kernels", "--only", "bsp", *QUICK]) == 2
    assert "'bsp' names no compressor" in capsys.readouterr().err
    assert main(["bench", "kernels", "--only", "local(8) / sign", *QUICK]) == 2
    assert "says more than sign(2048), of which nothing is timed" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["0", "-3", "many", "inf"])
def test_sizes_are_numbers_of_elements(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "kernels", "--sizes", size])
    assert "element" in capsys.readouterr().err


def test_the_break_even_is_bytes_saved_over_time_spent() -> None:
    row = alone(Sign(), 4096)
    assert row.decode is not None
    spent = 4e-9 * 4096 / row.encode.gb_s + 4e-9 * 4096 / row.decode.gb_s
    assert row.gbit_s == pytest.approx(8e-9 * (4 * 4096 - 4 * 2 - 512) / spent)


def test_slow_ones_are_marked() -> None:
    speed = Speed(0.05, 0.05, None)
    assert not bench.pays(Measured("slow", 10, 1.0, speed, None, 0.4))
    assert bench.pays(Measured("fast", 10, 1.0, speed, None, 20.0))
    assert "never" in bench.line(Measured("none", 10, 32.0, speed, None, None))


def test_a_vector_is_shaped_for_those_that_look_at_shapes() -> None:
    assert matrix(1_000_000).shapes == ((1000, 1000),)
    assert matrix(7).shapes == ((1, 7),)
    assert alone(PowerSGD(1), 10_000).bits < 1


def test_threads_are_as_before() -> None:
    before = torch.get_num_threads()
    alone(ErrorFeedback(TopK(0.01)), 1000)
    assert torch.get_num_threads() == before
