"""Notes in the job's store: who is missing, who said why, who merely waits elsewhere."""

from __future__ import annotations

import pytest
import torch.distributed as dist

from laconic.drive import roster as module
from laconic.drive.base import Place
from laconic.drive.roster import Roster

PLACE = Place(12, 3, "fc.weight")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GRACE_S", 0.05)
    monkeypatch.setattr(module, "_POLL_S", 0.01)


def rosters(world: int) -> list[Roster]:
    store = dist.HashStore()
    return [Roster(store, rank, world) for rank in range(world)]


def test_who_leaves_no_note_is_named():
    first, second, _ = rosters(3)
    second.note("waited at step 12, bucket 3")
    text = first.explain(PLACE, "Connection reset")
    assert text.startswith("Rank 0 lost a peer at step 12, bucket 3 (fc.weight): Connection reset.")
    assert "No sign of rank 2: it died, hangs or is cut off" in text


def test_several_that_are_missing_are_all_named():
    assert "No sign of rank 1, 2:" in rosters(3)[0].explain(PLACE, "x")


def test_who_said_why_it_left_is_quoted():
    first, second, _ = rosters(3)
    second.note("ended after step 11")
    text = first.explain(PLACE, "x")
    assert "rank 1 ended after step 11" in text
    assert "No sign" not in text


def test_if_all_are_alive_it_says_where_they_wait():
    first, second = rosters(2)
    second.explain(Place(11, 0), "x")
    assert "All ranks are alive: rank 1 waited at step 11, bucket 0." in first.explain(PLACE, "x")


def test_trouble_is_heard_by_all_but_a_mere_note_is_none():
    first, second = rosters(2)
    second.note("ended after step 11")
    assert not first.trouble()
    second.explain(PLACE, "x")
    assert first.trouble()


def test_a_dead_store_does_not_raise():
    class Dead:
        def __getattr__(self, name: str) -> object:
            def gone(*args: object) -> object:
                raise RuntimeError("the store is gone")

            return gone

    alone = rosters(2)[0]
    alone.store = Dead()  # type: ignore[assignment]
    alone.note("x")
    assert not alone.trouble()
    assert "No sign of rank 0, 1" in alone.explain(PLACE, "x")


def test_a_place_reads_like_a_place():
    assert str(PLACE) == "step 12, bucket 3 (fc.weight)"
    assert str(Place(0, 1)) == "step 0, bucket 1"
