from __future__ import annotations

import torch

from laconic.tasks.examples import Images, Windows, spread


def test_the_label_of_a_byte_is_the_byte_after_it():
    windows = Windows(torch.arange(10, dtype=torch.uint8), context=3)
    assert len(windows) == 3
    x, y = windows.take(torch.tensor([0, 2]))
    assert x.tolist() == [[0, 1, 2], [6, 7, 8]]
    assert y.tolist() == [[1, 2, 3], [7, 8, 9]]


def test_a_text_shorter_than_a_window_has_no_windows():
    assert len(Windows(torch.zeros(3, dtype=torch.uint8), context=3)) == 0
    assert len(Windows(torch.zeros(0, dtype=torch.uint8), context=3)) == 0


def test_spread_takes_evenly_and_never_more_than_there_are():
    windows = Windows(torch.arange(101, dtype=torch.uint8), context=1)
    some = spread(windows, 4)
    assert some.take(torch.arange(4))[0].flatten().tolist() == [0, 25, 50, 75]
    assert len(spread(windows, 1000)) == 100


def test_images_are_scaled_when_taken():
    images = Images(torch.tensor([[[0, 10]]], dtype=torch.uint8), torch.tensor([3]), mean=5.0, std=2.5)
    x, y = images.take(torch.tensor([0]))
    assert x.tolist() == [[[[-2.0, 2.0]]]]
    assert y.tolist() == [3]
