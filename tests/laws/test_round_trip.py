"""A plan with any compressor survives text, JSON, pickle and repr, and so do its hash and fingerprint."""

from __future__ import annotations

import json
import pickle

import pytest

import laconic.coding
import laconic.compress
import laconic.outer
import laconic.schedule
import laconic.sync
import laconic.topology
from laconic.compress import AbstractCompressor
from laconic.plan import Plan
from laconic.schedule import Fifo
from laconic.sync import Local
from tests.laws import broken
from tests.laws.world import over_the_zoo
from tests.zoo import Entry

NAMES = {
    "Plan": Plan,
    **vars(laconic.coding),
    **vars(laconic.compress),
    **vars(laconic.outer),
    **vars(laconic.schedule),
    **vars(laconic.sync),
    **vars(laconic.topology),
}


def _plan(compressor: AbstractCompressor) -> Plan:
    return Plan(sync=Local(3), compress=compressor, schedule=Fifo("2MiB"))


def check_text(compressor: AbstractCompressor) -> None:
    plan = _plan(compressor)
    again = Plan.parse(str(plan))
    assert again == plan, f"{plan} reads back as {again!r}"
    assert str(again) == str(plan)
    assert again.fingerprint == plan.fingerprint
    assert hash(again) == hash(plan)


def check_json(compressor: AbstractCompressor) -> None:
    plan = _plan(compressor)
    assert Plan.from_json(plan.to_json()) == plan, f"{plan} changes in JSON"
    assert Plan.from_dict({"sync": "local(3)", "compress": str(compressor), "schedule": "fifo(2MiB)"}) == plan
    assert json.loads(plan.to_json())["compress"]["name"] == compressor.name


def check_pickle(compressor: AbstractCompressor) -> None:
    plan = _plan(compressor)
    assert pickle.loads(pickle.dumps(plan)) == plan, f"{plan} changes in pickle"


def check_repr(compressor: AbstractCompressor) -> None:
    plan = _plan(compressor)
    try:
        again = eval(repr(plan), dict(NAMES))
    except (NameError, SyntaxError, TypeError) as error:
        raise AssertionError(f"repr(plan) cannot be evaluated: {error}") from error
    assert again == plan, f"{plan} changes in its repr"


@over_the_zoo
def test_plans_survive_text(entry: Entry):
    check_text(entry.compressor)


@over_the_zoo
def test_plans_survive_json(entry: Entry):
    check_json(entry.compressor)


@over_the_zoo
def test_plans_survive_pickle(entry: Entry):
    check_pickle(entry.compressor)


@over_the_zoo
def test_plans_survive_repr(entry: Entry):
    check_repr(entry.compressor)


def test_the_law_catches_a_text_with_too_few_digits():
    with pytest.raises(AssertionError, match="reads back as"):
        check_text(broken.ShortText())


def test_the_law_catches_json_that_names_another_class():
    with pytest.raises(AssertionError, match="changes in JSON"):
        check_json(broken.ShortText())


def test_the_law_catches_a_repr_for_people_only():
    with pytest.raises(AssertionError, match="cannot be evaluated"):
        check_repr(broken.ReprOfNothing())


def test_the_law_catches_a_field_that_pickle_drops():
    with pytest.raises(AssertionError, match="changes in pickle"):
        check_pickle(broken.PicklesItsDefault(0.5))
