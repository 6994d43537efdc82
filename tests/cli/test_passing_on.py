"""What a verb keeps and what goes to the script."""

from __future__ import annotations

import argparse
import importlib

import pytest

from laconic.cli.passing_on import divided
from laconic.core.errors import UsageError

VERBS = ("compare", "profile")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(allow_abbrev=False)
    made.add_argument("task")
    made.add_argument("-o", "--output")
    return made


def test_what_we_do_not_know_and_all_after_the_dashes_is_the_scripts() -> None:
    args, rest = divided(parser(), ["train.py", "--lr", "0.1", "-o", "m.json", "--", "--output", "ckpt"])
    assert (args.task, args.output) == ("train.py", "m.json")
    assert rest == ["--lr", "0.1", "--output", "ckpt"]


def test_a_shorter_option_of_the_scripts_is_not_taken_for_ours() -> None:
    args, rest = divided(parser(), ["train.py", "--out", "ckpt"])
    assert args.output is None
    assert rest == ["--out", "ckpt"]


@pytest.mark.parametrize("word", ["--ouput", "--outputs", "--ouput=m.json"])
def test_what_looks_like_a_typo_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match=r"Did you mean '--output'\? The script's own stand after --"):
        divided(parser(), ["train.py", word, "m.json"])
    assert divided(parser(), ["train.py", "--", word, "m.json"])[1] == [word, "m.json"]


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_that_pass_options_on_take_none_abbreviated(verb: str) -> None:
    _, rest = divided(importlib.import_module(f"laconic.cli.{verb}").parser(), ["train.py", "--out", "ckpt"])
    assert rest == ["--out", "ckpt"]
