"""Save in the middle, load into a fresh start, continue: bit for bit as if nothing had happened."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
import torch

from laconic.compress import AbstractCompressor
from laconic.core import state as tree
from tests.laws import broken
from tests.laws.history import history
from tests.laws.world import World, over_the_zoo, routes
from tests.zoo import Entry


def check_resumes(compressor: AbstractCompressor) -> None:
    for route in routes(compressor):
        _, saved, *later = history(compressor, 3, route).steps(4)
        files = [_save(state) for state in saved.states]
        fresh = World(replace(compressor), 3, route)
        fresh.states = [
            tree.from_dict(state, torch.load(file, weights_only=True))
            for state, file in zip(fresh.states, files, strict=True)
        ]
        for step, went_on in enumerate(later, 2):
            for rank, resumed in enumerate(fresh.exchange(fresh.inputs(step), step)):
                same = torch.equal(went_on.means[rank], resumed.mean) and torch.equal(went_on.sent[rank], resumed.sent)
                same = same and tree.same(went_on.states[rank], resumed.state)
                assert same, f"{compressor}: step {step} after loading differs from going on ({route})"


def _save(state: object) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(tree.to_dict(state), file)
    file.seek(0)
    return file


@over_the_zoo
def test_a_saved_run_continues_bit_for_bit(entry: Entry):
    check_resumes(entry.compressor)


def test_the_law_catches_state_that_no_checkpoint_sees():
    with pytest.raises(AssertionError, match="after loading differs"):
        check_resumes(broken.HiddenState())
