"""Iterations to epsilon (bench/theory.py): the descents by hand, the counting by hand, what is printed and drawn."""

from __future__ import annotations

import importlib
import math
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from laconic.topology.graphs import Complete

ROOT = Path(__file__).parents[1]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def bench() -> Iterator[None]:
    sys.path.insert(0, str(ROOT / "bench"))
    yield
    sys.path.remove(str(ROOT / "bench"))


@pytest.fixture
def descents(bench: None) -> ModuleType:
    return importlib.import_module("descents")


@pytest.fixture
def counting(bench: None) -> ModuleType:
    return importlib.import_module("iterations")


@pytest.fixture
def theory(bench: None) -> ModuleType:
    return importlib.import_module("theory")


def first(descent: Any, problem: Any, number: int) -> list[Any]:
    models = descent.models(problem, np.random.default_rng(1))
    return [next(models) for _ in range(number)]


def test_with_one_worker_that_says_everything_all_are_the_same(descents: ModuleType):
    plain = first(descents.MbSgd(1), descents.NONCONVEX, 6)
    for other in (descents.EcSgd(1, 1.0), descents.Asgd(1), descents.Dsgd(1, 2.0)):
        np.testing.assert_allclose(first(other, descents.NONCONVEX, 6), plain, err_msg=other.name)


def test_gradients_are_those_of_the_values(descents: ModuleType):
    x, small = np.random.default_rng(0).standard_normal(descents.DIM), 1e-6
    for problem in descents.PROBLEMS:
        aside = [problem.value(x + e) - problem.value(x - e) for e in small * np.eye(descents.DIM)]
        np.testing.assert_allclose(np.array(aside) / (2 * small), problem.gradient(x), atol=1e-8)


def test_the_second_problem_is_not_convex_and_has_no_flat_place_far_away(descents: ModuleType):
    at = descents.NONCONVEX.gradient(np.array([0.5, 1.0, 1.5, 30.0, 60.0]))
    assert at[2] < at[1], "the slope falls where a convex function's cannot"
    assert at[4] > at[3] > 1


def test_late_sgd_takes_the_gradient_of_n_iterations_ago(descents: ModuleType, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(descents, "_noise", lambda rng, *shape: np.zeros((descents.SEEDS, 1, *shape)))
    problem, size = descents.QUADRATIC, descents.STEPS[None, :, None]
    x = first(descents.LateSgd(2), problem, 5)
    np.testing.assert_allclose(x[3], x[0] - 3 * size * problem.gradient(x[0]))
    np.testing.assert_allclose(x[4], x[3] - size * problem.gradient(x[1]))


def test_asgd_applies_n_gradients_of_the_model_of_n_minus_1_updates_ago(
    descents: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(descents, "_noise", lambda rng, *shape: np.zeros((descents.SEEDS, 1, *shape)))
    problem, half = descents.QUADRATIC, descents.STEPS[None, :, None] / 2
    models = first(descents.Asgd(2), problem, 3)
    x = [models[0], models[0] - half * problem.gradient(models[0])]  # both workers began with the first model
    for k in range(3):
        x.append(x[-1] - half * problem.gradient(x[k]))
    np.testing.assert_allclose(models, x[::2])


@pytest.mark.parametrize("workers", [1, 4, 16])
def test_asgd_is_as_late_as_equally_fast_workers_at_one_server(
    descents: ModuleType, monkeypatch: pytest.MonkeyPatch, workers: int
):
    """Each reads the model when its own update is in, and n - 1 others are taken before its next."""
    monkeypatch.setattr(descents, "_noise", lambda rng, *shape: np.zeros((descents.SEEDS, 1, *shape)))
    read, served = [0] * workers, []
    for update in range(5 * workers):
        served.append(update - read[update % workers])
        read[update % workers] = update + 1
    asked: list[Any] = []
    slope_of_1 = descents.Problem("x", lambda x: x[..., 0], lambda x: asked.append(x) or np.ones_like(x), 0.0)
    models = first(descents.Asgd(workers), slope_of_1, 6)
    sunk = (models[0] - models[1])[0, 0, 0] / workers  # by each update, whatever it is an update of
    assert [round(k - (models[0] - x)[0, 0, 0] / sunk) for k, x in enumerate(asked)] == served
    assert served[workers:] == [workers - 1] * 4 * workers


def test_workers_own_data_cancels_where_their_models_agree(descents: ModuleType):
    gossip, problem = descents.Dsgd(4, 3.0, Complete()), descents.QUADRATIC
    start, after = first(gossip, problem, 2)
    noise = np.random.default_rng(1).standard_normal((descents.SEEDS, 1, 4, descents.DIM)).mean(2)
    size = descents.STEPS[None, :, None]
    moved = start - size * (problem.gradient(start) + noise / math.sqrt(descents.DIM))
    np.testing.assert_allclose(after, moved, atol=1e-12)


def test_a_memory_needs_fewer_iterations_than_chance(descents: ModuleType, counting: ModuleType):
    kept, lost = (
        counting.iterations(make(4, 0.1), descents.QUADRATIC, (0.2,))[0] for make in (descents.EcSgd, descents.Csgd)
    )
    assert kept < lost


def test_the_bounds_are_those_of_table_1_1(descents: ModuleType):
    assert descents.MbSgd(4).bound(0.1) == pytest.approx(10 + 25)
    assert descents.Csgd(4, 0.5).bound(0.1) == pytest.approx(10 + 25 + 25)
    assert descents.EcSgd(4, 0.5).bound(0.01) == pytest.approx(100 + 2500 + math.sqrt(0.5) / 0.5 * 1000)
    assert descents.Asgd(4).bound(0.1) == descents.LateSgd(4).bound(0.1) == pytest.approx(40 + 25)
    assert descents.Dsgd(4, 3.0, Complete()).bound(0.01) == pytest.approx(100 + 2500 + 3000)
    assert descents.Dsgd(4, 3.0).bound(0.01) == pytest.approx(100 + 2500 + 3000 / (2 / 3))


def test_the_running_mean_is_counted_across_chunks(descents: ModuleType, counting: ModuleType):
    """|f'|^2 is 4, then 0: its mean is 4 / T."""

    class Once:
        def models(self, p: Any, rng: Any) -> Iterator[Any]:
            shape = (descents.SEEDS, len(descents.STEPS), 1)
            yield np.full(shape, 2.0)
            while True:
                yield np.zeros(shape)

    problem = descents.Problem("x", lambda x: x[..., 0], lambda x: x, 2.0)
    assert counting.iterations(Once(), problem, (4.0, 0.5, 0.01)) == [1, 8, 400]
    assert counting.iterations(Once(), problem, (0.5, 0.01), longest=399) == [8, math.inf]
    assert counting.iterations_to_value(Once(), problem, (2.0, 1.0)) == [1, 2]


def test_a_slope_is_an_exponent_of_what_was_reached(counting: ModuleType):
    assert counting.slope([1, 2, 4, 8], [3, 12, 48, math.inf]) == pytest.approx(2)
    assert math.isnan(counting.slope([1, 2], [5, math.inf]))


def test_a_sweep_is_a_table_and_a_picture_for_each_problem(theory: ModuleType):
    reached = theory.Line("quadratic", "CSGD", "N = 4", (5.0, 10.0), (10.0, 40.0), (1.0, 2.0))
    missed = theory.Line("non-convex", "CSGD", "N = 4", (5.0, 10.0, 20.0), (10.0, 20.0, math.inf), (1.0, 4.0, 16.0))
    sweep = theory.Sweep("eps", "Over epsilon", "1 / eps", "eps = 0.2 / 0.1", (reached, missed), (2,))
    assert "| quadratic | CSGD | N = 4 | 10 / 40 | 2.00 | 1.00 |" in sweep.table()
    assert "| non-convex | CSGD | N = 4 | 10 / 20 / - | 1.00 | 2.00 |" in sweep.table()
    pictures = sweep.pictures()
    assert set(pictures) == {"eps_quadratic.svg", "eps_non-convex.svg"}
    drawn = ET.fromstring(pictures["eps_non-convex.svg"])
    assert len(list(drawn.iter(f"{SVG}circle"))) == 2 + 2, "what was reached, and the guide"


def test_the_page_shows_every_picture_there_is():
    page = (ROOT / "docs" / "theory.md").read_text()
    there = {path.name for path in (ROOT / "docs" / "theory").glob("*.svg")}
    assert len(there) == 9, "five sweeps, one of them of the quadratic alone"
    assert all(f"](theory/{name})" in page for name in there)


def test_every_slope_that_deviates_leads_to_a_reason():
    page = (ROOT / "docs" / "theory.md").read_text()
    cells = [[c.strip() for c in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    rows = [row for row in cells if row[0] in ("quadratic", "non-convex")]
    assert len(rows) >= 2 * (10 + 6 + 2 + 2) + 8
    for *_, fitted, promised, note in rows:
        deviates = abs(float(fitted) - float(promised)) > 0.1
        assert bool(note) == deviates
        assert not note or f"- **{note}**" in page
