"""The taxonomy has no holes: every cell is a plan or is refused with a reason, and a few are trained here."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

import laconic
from laconic.plan import Plan
from tests.processes import results
from tests.replica.loops import batches, fit, flat, mlp

ROOT = Path(__file__).parents[1]
MOST_REFUSED = 6
TRAINED = ["asp / gossip(ring, adchoco(0.6)) / qsgd(bits=4)", "ssp(2) / allreduce / ef(powersgd(4))"]


@pytest.fixture(scope="module")
def matrix() -> ModuleType:
    spec = importlib.util.spec_from_file_location("matrix", ROOT / "bench" / "matrix.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["matrix"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_48_cells_and_few_are_refused(matrix: ModuleType):
    cells = matrix.cells()
    assert len({cell.text for cell in cells}) == len(cells) == 48
    refused = [cell for cell in cells if cell.refusal]
    assert len(refused) <= MOST_REFUSED
    assert all("Use" in cell.refusal for cell in refused), "a reason says what to do instead"
    assert all(Plan.parse(str(Plan.parse(c.text))) == Plan.parse(c.text) for c in cells if not c.refusal)


def test_the_page_lists_every_cell_and_its_reason(matrix: ModuleType):
    committed = (ROOT / "docs" / "matrix.md").read_text()
    for cell in matrix.cells():
        assert f"`{cell.text}`" in committed
        assert cell.refusal is None or cell.refusal in committed
    assert "failed" not in committed
    assert "below the target)" not in committed


def _train(rank: int, world: int, plans: list[str]) -> list[tuple[float, float]]:
    out = []
    for plan in plans:
        model = mlp(rank, norm=False)
        # No momentum: stale steps act like momentum already, and with 0.9 on top they diverge at the usual rate.
        optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
        replica = laconic.distribute(model, optimizer, plan)
        first = fit(model, optimizer, batches(rank, 1))
        fit(model, optimizer, batches(rank, 40))
        replica.average()
        with torch.no_grad():
            x, y = batches(99, 1, 256)[0]
            last = float(torch.nn.functional.cross_entropy(model(x), y))
        out.append((last / first, float(flat(model).sum())))
        replica.close()
    return out


def test_cells_that_nobody_else_has_learn_something():
    told = results(4, _train, TRAINED, timeout_s=100)
    for i, plan in enumerate(TRAINED):
        assert told[0][i][0] < 0.7, f"{plan}: the loss did not fall"
        assert len({one[i][1] for one in told}) == 1, f"{plan}: models differ after average()"
