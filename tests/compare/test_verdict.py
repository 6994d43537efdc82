"""It states plainly when a plan loses."""

from __future__ import annotations

from dataclasses import replace

from laconic.compare.lines import Comparison, Result
from laconic.compare.measured import Point, Run
from laconic.compare.rows import NOT_CHOSEN, Kind, read
from laconic.compare.target import Target
from laconic.compare.verdict import verdict
from tests.compare.made import comparison, run


def said(runs: dict[str, list[Run] | str], **more: object) -> list[str]:
    return verdict(comparison(runs, **more))  # type: ignore[arg-type]


def about(made: Comparison, word: str) -> list[str]:
    return [text for text in verdict(made) if word in text]


def test_a_plan_slower_than_ddp_loses():
    assert "local(8) LOSES to DDP: 0.50x its speed." in said({"ddp": [run(1.0)], "local(8)": [run(2.0)]})


def test_a_plan_that_beats_ddp_may_lose_to_the_best_baseline():
    texts = said({"ddp": [run(4.0)], "ddp+bf16": [run(1.0)], "local(8)": [run(2.0)]})
    assert "local(8) beats DDP (2.00x) but LOSES to the best baseline, ddp+bf16: 0.50x its speed." in texts
    assert "No plan is faster than the best baseline, ddp+bf16." in texts


def test_a_winner_is_named_with_both_ratios():
    texts = said({"ddp": [run(4.0)], "ddp+bf16": [run(2.0)], "bf16": [run(3.0)], "local(8)": [run(1.0)]})
    assert texts[0] == "Fastest plan: local(8), 4.00x DDP and 2.00x ddp+bf16 in steps per second."


def test_the_floor_is_held_beside_the_winner():
    texts = said({"ddp": [run(4.0)], "local(8)": [run(1.0)], "silent": [run(0.8)]})
    assert texts[0] == "Fastest plan: local(8), 4.00x DDP in steps per second; its step takes 1.25x the floor's."


def test_a_winner_whose_model_is_worse_is_followed_by_the_fastest_one_that_is_not():
    rows = {"ddp": [run(4.0, loss=1.0)], "local(8)": [run(1.0, loss=2.0)], "bf16": [run(2.0, loss=1.0)]}
    assert said(rows)[1] == "Fastest with a model as good as DDP's: bf16, 2.00x DDP in steps per second."
    del rows["bf16"]
    assert said(rows)[1] == "No plan that is faster than DDP has a model as good as DDP's."


def test_runs_that_overlap_are_said_to():
    texts = said({"ddp": [run(1.0), run(1.2)], "local(8)": [run(1.1), run(1.3)]})
    assert any("LOSES to DDP" in text and "may be chance" in text for text in texts)


def test_where_auto_keeps_ddp_neither_row_wins():
    made = comparison({"ddp": [run(1.0)], "local(8)": [run(0.5)]})
    kept = replace(read("ddp"), text="auto = ddp", kind=Kind.PLAN)
    texts = verdict(replace(made, results=(*made.results, Result(kept, (run(0.4),)))))
    assert texts[0].startswith("Fastest plan: local(8)")
    assert "auto = ddp: DDP is the answer. Both rows are the same program; 2.50x is this machine's noise." in texts


def test_where_auto_failed_ddp_is_not_its_answer():
    made = comparison({"ddp": [run(1.0)]})
    kept = replace(read("ddp"), text=f"auto = {NOT_CHOSEN}", kind=Kind.PLAN)
    texts = verdict(replace(made, results=(*made.results, Result(kept, (run(0.9),)))))
    assert not [text for text in texts if "is the answer" in text]
    assert [text for text in texts if text.startswith(f"auto = {NOT_CHOSEN}: auto failed")]


def test_the_floor_and_the_baselines_are_never_said_to_lose():
    texts = said({"ddp": [run(1.0)], "ddp+bf16": [run(9.0)], "silent": [run(9.0)]})
    assert not [text for text in texts if "LOSES" in text]


def test_a_model_worse_by_more_than_a_point_is_worse():
    made = comparison({"ddp": [run(accuracy=0.95)], "local(8)": [run(accuracy=0.93)], "bf16": [run(accuracy=0.941)]})
    assert about(made, "WORSE") == ["local(8) is WORSE than DDP: accuracy 0.93 against 0.95, by 2.0 points."]


def test_a_loss_more_than_two_percent_higher_is_worse():
    made = comparison({"ddp": [run(loss=2.0)], "local(8)": [run(loss=2.1)], "bf16": [run(loss=2.03)]})
    assert about(made, "WORSE") == ["local(8) is WORSE than DDP: loss 2.1 against 2, by 5.0%."]


def test_baselines_are_judged_by_their_models_too_but_not_the_floor():
    made = comparison({"ddp": [run(loss=2.0)], "ddp+powersgd(1)": [run(loss=3.0)], "silent": [run(loss=9.0)]})
    assert about(made, "WORSE") == ["ddp+powersgd(1) is WORSE than DDP: loss 3 against 2, by 50.0%."]


def test_models_as_good_as_ddps_are_said_to_be():
    made = comparison({"ddp": [run(accuracy=0.95)], "local(8)": [run(accuracy=0.96)]})
    assert about(made, "within") == ["Every row's accuracy is within 1 point of DDP's, or better."]


def test_a_diverged_model_is_named():
    diverged = Run(10, 1.0, None, 1.0, None, ())
    made = comparison({"ddp": [run(accuracy=0.9)], "local(8)": [diverged]})
    assert about(made, "no finite accuracy") == [
        "local(8) has no finite accuracy at the end: it diverged or logged nothing."
    ]


def test_a_metric_nobody_can_judge_is_left_alone():
    made = comparison({"ddp": [run(beauty=1.0)], "local(8)": [run(beauty=0.1)]})
    assert not about(made, "WORSE")
    assert about(made, "is not known here")


def test_a_ddp_that_diverged_is_no_measure():
    made = comparison({"ddp": [run(points=(Point(1, 1.0, 1.0, None, {"loss": None}),))], "bf16": [run(loss=1.0)]})
    assert about(made, "DDP has no finite loss")


def test_without_any_log_it_says_how_to_log():
    assert about(comparison({"ddp": [run()], "bf16": [run()]}), "laconic.log")


def test_failures_come_with_their_first_line():
    assert said({"ddp": [run()], "bf16": "Rank 1 ended.\nTraceback"})[0] == "bf16 failed: Rank 1 ended."
    assert "DDP has no result, so nothing can be compared with it." in said({"ddp": "x", "bf16": [run()]})


def test_an_unreached_target_and_an_unknown_metric_are_told():
    until = Target("accuracy", ">=", 0.9)
    made = comparison({"ddp": [run(accuracy=0.95)], "bf16": [run(accuracy=0.85)]}, until=until)
    assert "Not every run reached accuracy>=0.9: bf16." in verdict(made)
    made = comparison({"ddp": [run(loss=1.0)]}, until=until)
    assert "No run logged 'accuracy', only loss." in verdict(made)


def test_what_was_measured_below_the_floor_casts_doubt_on_all():
    texts = said({"ddp": [run(1.0)], "bf16": [run(3.0)], "silent": [run(2.0)]})
    assert any(text.startswith("Measured below the floor, which cannot be: ddp.") for text in texts)
    assert not [text for text in said({"ddp": [run(2.0)], "silent": [run(2.0)]}) if "floor" in text]


def test_a_comparison_that_was_stopped_says_how_much_it_holds():
    made = comparison({"ddp": [run()], "bf16": []}, complete=False, repeat=2)
    assert verdict(made)[0] == "Stopped early: 1 of 4 runs are in this table."


def test_loopback_is_said_not_to_be_a_slow_network():
    assert not about(comparison({"ddp": [run()]}), "loopback")
    assert about(comparison({"ddp": [run()]}, lab=False, rate=None), "gains cannot show here")
