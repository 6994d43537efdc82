from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch

from laconic.core import state as tree
from laconic.core.errors import StateError


class Inner(NamedTuple):
    q: tuple[torch.Tensor, ...]


class Outer(NamedTuple):
    residual: torch.Tensor
    inner: Any


STATE = Outer(torch.tensor([1.0, 2.0]), Inner((torch.tensor([3.0]), torch.tensor([[4.0]]))))
FRESH = Outer(torch.zeros(2), Inner((torch.zeros(1), torch.zeros(1, 1))))


def test_paths_read_like_attributes():
    assert list(tree.to_dict(STATE)) == ["residual", "inner.q.0", "inner.q.1"]


def test_a_tree_comes_back_with_its_types():
    again = tree.from_dict(FRESH, tree.to_dict(STATE))
    assert isinstance(again, Outer)
    assert isinstance(again.inner, Inner)
    assert tree.same(again, STATE)


def test_a_saved_tree_is_a_copy_and_so_is_a_loaded_one():
    saved = tree.to_dict(STATE)
    again = tree.from_dict(FRESH, saved)
    saved["residual"].zero_()
    assert again.residual.tolist() == [1.0, 2.0]
    assert STATE.residual.tolist() == [1.0, 2.0]


def test_an_empty_state_is_an_empty_dict():
    assert tree.to_dict(()) == {}
    assert tree.from_dict((), {}) == ()


def test_a_missing_tensor_is_named():
    with pytest.raises(StateError, match=r"no 'inner\.q\.0'"):
        tree.from_dict(FRESH, {"residual": torch.zeros(2)})


@pytest.mark.parametrize("bad", [torch.zeros(3), torch.zeros(2, dtype=torch.float64)])
def test_another_shape_or_type_is_named(bad: torch.Tensor):
    with pytest.raises(StateError, match=r"'residual' is .* this run needs \(2,\) torch.float32"):
        tree.from_dict(FRESH, {**tree.to_dict(STATE), "residual": bad})


def test_only_tensors_and_tuples_are_state():
    with pytest.raises(TypeError, match="'momentum' is a float"):
        tree.to_dict(0.5, "momentum")


def test_same_sees_one_bit():
    other = tree.from_dict(FRESH, tree.to_dict(STATE))
    assert tree.same(STATE, other)
    other.inner.q[0].add_(1e-6)
    assert not tree.same(STATE, other)


def test_a_state_holds_a_tensor_that_it_shares_memory_with():
    shared, other = torch.zeros(4), torch.zeros(4)
    assert tree.holds((other, (shared[1:],)), shared)
    assert not tree.holds((other, (torch.zeros(0),)), shared)
