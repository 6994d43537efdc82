from __future__ import annotations

from dataclasses import replace

from laconic.compare.lines import lines
from laconic.compare.measured import Point
from laconic.compare.table import as_text, table, title
from laconic.compare.target import Target
from tests.compare.made import comparison, run

MADE = comparison(
    {
        "ddp": [run(0.04, accuracy=0.95, tx=105.0), run(0.05, accuracy=0.97, tx=107.0)],
        "local(8)": [
            run(0.01, wait_s=0.004, accuracy=0.96, tx=104.0),
            run(0.02, wait_s=0.004, accuracy=0.96, tx=104.0),
        ],
        "silent": [run(0.01, wait_s=0.0, accuracy=0.5, tx=0.0)],
    }
)


def figures(text: str, row: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(row))
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_one_line_a_row_and_columns_are_aligned():
    text = table(lines(MADE), MADE.setting)
    assert len(text.splitlines()) == 4
    assert len({len(line) for line in text.splitlines()}) == 1
    head = "plan step [min .. max] x DDP x best sent/step on interface compute exposed accuracy"
    assert " ".join(text.splitlines()[0].split()) == head


def test_figures_stand_in_their_columns():
    assert figures(table(lines(MADE), MADE.setting), "ddp") == [
        "ddp",
        "45 ms",
        "[40 ms .. 50 ms]",
        "1.00",
        "1.00",
        "100 B",
        "106 B",
        "10 ms",
        "35 ms*",
        "0.9600",
    ]


def test_an_estimate_is_marked_and_explained():
    assert "*: DDP does not tell, so its step minus the floor's." in " ".join(as_text(MADE).split())
    alone = comparison({"ddp": [run()]})
    assert "*" not in as_text(alone)


def test_without_a_lab_there_is_no_interface_column_and_without_logs_no_metric():
    plain = comparison({"ddp": [run()]}, lab=False, rate=None)
    head = table(lines(plain), plain.setting).splitlines()[0]
    assert "interface" not in head
    assert head.split()[-1] == "exposed"


def test_steps_of_all_workers_are_shown_where_they_do_not_keep_step():
    waits, goes = run(0.4), run(0.4)
    waits, goes = replace(waits, rank_step_s=(0.4,) * 4), replace(goes, rank_step_s=(0.1, 0.1, 0.1, 0.4))
    made = comparison({"ddp": [waits], "asp": [goes]}, batch=16)
    text = table(lines(made), made.setting)
    assert text.splitlines()[0].split()[-2:] == ["steps/s", "examples/s"]
    assert figures(text, "ddp")[-2:] == ["10", "160"]
    assert figures(text, "asp")[-2:] == ["32.5", "520"]
    assert "steps/s are those of all together" in " ".join(as_text(made).split())
    assert "steps/s" not in as_text(comparison({"ddp": [waits], "asp": [waits]}, batch=16))
    assert "examples/s" not in as_text(comparison({"ddp": [waits], "asp": [goes]}))


def test_the_way_to_the_target_has_its_columns():
    until = Target("accuracy", ">=", 0.9)
    early = (Point(2, 2.0, 2e6, None, {"accuracy": 0.95}),)
    rows = {"ddp": [run(points=early)], "bf16": [run(accuracy=0.5)], "local(8)": "boom"}
    made = comparison(rows, until=until)
    text = table(lines(made), made.setting)
    assert "time to accuracy>=0.9" in text
    assert figures(text, "ddp")[-2:] == ["2 s", "2 MB"]
    assert figures(text, "bf16")[-2:] == ["not reached", "-"]
    assert figures(text, "local(8)")[-2:] == ["-", "-"]


def test_failed_and_unfinished_rows_are_shown_as_such_with_their_last_words():
    made = comparison({"ddp": [run()], "bf16": "Rank 1 ended.\nKeyError: 7", "local(8)": []}, complete=False)
    text = as_text(made)
    assert figures(text, "bf16")[1] == "FAILED"
    assert figures(text, "local(8)")[1] == "not run"
    assert "bf16 FAILED. Its last words:\n  | Rank 1 ended.\n  | KeyError: 7" in text


def test_the_title_says_what_was_compared_on_what():
    assert title(MADE.setting) == "digits: 4 emulated hosts at 100mbit, 10 steps, each row 3 times, interleaved"
    plain = comparison({}, lab=False, rate=None, steps=None, repeat=1, task="train.py", args=("--lr", "1"))
    assert title(plain.setting) == (
        "train.py --lr 1: 4 processes over loopback, as many steps as the script takes, each row once"
    )
    unshaped = comparison({}, rate=None, link="host 2 runs 25% of the time")
    assert "4 emulated hosts with unlimited links (host 2 runs 25% of the time)" in title(unshaped.setting)
