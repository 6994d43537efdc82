"""Patterns of layers that stay dense."""

from __future__ import annotations

import re

from laconic.plan import Plan
from laconic.planner.skipping import LONGEST_PATTERN, pattern, skipping
from laconic.sim.model import table
from laconic.sim.models import layer_table


def test_layers_are_named_by_the_module_they_share() -> None:
    others = ["layers.1.up", "layers.2.up"]
    found = pattern(["head.weight", "layers.11.down", "layers.11.up", "layers.2.down"], others)
    assert found == "^(head[.]|layers[.]11[.]|layers[.]2[.]down$)"
    assert not any(re.search(found, other) for other in others)


def test_a_pattern_that_would_be_too_long_names_the_first() -> None:
    names = [f"a{'b' * 50}{i}" for i in range(20)]
    found = pattern(names, ["c"])
    assert found is not None
    assert [bool(re.search(found, name)) for name in names].count(True) == 7
    assert len(found) <= LONGEST_PATTERN + len("^()")


def test_a_large_model_leaves_its_last_layers_dense() -> None:
    bert = layer_table("bert-large")
    text = skipping(bert, 0.3, "ef(topk(0.01))")
    assert text is not None
    filtered = Plan.parse(text).compress
    dense = [w for w in bert.weights if not filtered.compresses(w.name, w.numel)]  # type: ignore[attr-defined]
    assert 0.25 < sum(w.numel for w in dense) / bert.numel < 0.35
    assert max(w.ready for w in dense) < len(bert.weights) / 2


def test_nothing_is_left_dense_where_one_layer_is_all() -> None:
    assert skipping(table("m", [("only", (2000, 1000))], [0.1]), 0.6, "ef(topk(0.01))") is None
