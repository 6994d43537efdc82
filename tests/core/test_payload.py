"""Messages: what is packed comes back, and what is damaged or meant for elsewhere is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from laconic.core.errors import PayloadError
from laconic.core.payload import HEADER_BYTES, Label, Part, blank, method_tag, pack, unpack

LABEL = Label(method=0xBEEF, bucket=3, step=41, numel=5)
PARTS = (torch.tensor([1.5, -2.0]), torch.tensor([7, 8, 9], dtype=torch.uint8))


def layout(numel: int, aux: int) -> tuple[Part, ...]:
    return Part(torch.float32, 2), Part(torch.uint8, aux)


def message(*, checksum: bool = False, label: Label = LABEL) -> Tensor:
    return pack(label, 3, PARTS, checksum=checksum)


def test_a_message_is_a_header_of_24_bytes_and_its_parts_without_padding():
    assert HEADER_BYTES == 24
    assert message().numel() == 24 + 8 + 3
    assert message().dtype == torch.uint8


def test_the_header_by_hand():
    head = bytes(message()[:24].numpy())
    assert head[:4] == b"La\x01\x00"  # magic, version 1, no flags
    assert head[4:6] == b"\xef\xbe"  # method, little-endian
    assert head[6:8] == b"\x03\x00"
    assert head[8:12] == b"\x29\x00\x00\x00"
    assert head[12:16] == b"\x05\x00\x00\x00"
    assert head[16:20] == b"\x03\x00\x00\x00"
    assert bytes(message()[24:32].numpy()) == b"\x00\x00\xc0\x3f\x00\x00\x00\xc0"  # 1.5, -2.0


@pytest.mark.parametrize("checksum", [False, True])
def test_what_was_packed_comes_back(checksum: bool):
    aux, parts = unpack(message(checksum=checksum), LABEL, layout)
    assert aux == 3
    assert all(torch.equal(a, b) for a, b in zip(parts, PARTS, strict=True))


def test_a_message_inside_a_larger_buffer_may_start_anywhere():
    for shift in range(1, 8):
        buffer = torch.cat([torch.zeros(shift, dtype=torch.uint8), message()])
        assert torch.equal(unpack(buffer[shift:], LABEL, layout)[1][0], PARTS[0])


@given(
    floats=st.lists(st.floats(width=32, allow_nan=False), max_size=9),
    indices=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=9),
    codes=st.lists(st.integers(0, 255), max_size=17),
    checksum=st.booleans(),
)
def test_any_parts_survive(floats: list[float], indices: list[int], codes: list[int], checksum: bool):
    parts = (
        torch.tensor(floats, dtype=torch.float32),
        torch.tensor(indices, dtype=torch.int32),
        torch.tensor(codes, dtype=torch.uint8),
    )
    sizes = tuple(Part(p.dtype, p.numel()) for p in parts)
    got = unpack(pack(LABEL, 0, parts, checksum=checksum), LABEL, lambda n, a: sizes)[1]
    assert all(torch.equal(a, b) for a, b in zip(got, parts, strict=True))


@pytest.mark.parametrize("length", [0, 1, 23, 24, 31, 34])
def test_a_truncated_message_is_refused(length: int):
    with pytest.raises(PayloadError, match="bytes"):
        unpack(message()[:length], LABEL, layout)


def test_a_message_that_is_too_long_is_refused():
    longer = torch.cat([message(), torch.zeros(1, dtype=torch.uint8)])
    with pytest.raises(PayloadError, match="36 bytes should have 35"):
        unpack(longer, LABEL, layout)


@pytest.mark.parametrize("byte", [0, 1, 2])
def test_foreign_bytes_and_other_versions_are_refused(byte: int):
    foreign = message()
    foreign[byte] += 1
    with pytest.raises(PayloadError, match="not one of ours"):
        unpack(foreign, LABEL, layout)


@pytest.mark.parametrize(
    "change", [{"method": 1}, {"bucket": 4}, {"step": 42}, {"numel": 6}], ids=lambda c: next(iter(c))
)
def test_a_message_of_another_place_or_method_is_refused(change: dict[str, int]):
    with pytest.raises(PayloadError, match="not at the same place or plan"):
        unpack(message(label=replace(LABEL, **change)), LABEL, layout)


def test_something_that_is_not_bytes_is_refused():
    with pytest.raises(PayloadError, match="shorter than its header"):
        unpack(torch.zeros(100), LABEL, layout)


@given(at=st.integers(0, 34), bit=st.integers(0, 7))
def test_with_a_checksum_no_flipped_bit_goes_unnoticed(at: int, bit: int):
    damaged = message(checksum=True)
    damaged[at] ^= 1 << bit
    if at == 3:
        return  # the flag that says there is a checksum; the next test
    with pytest.raises(PayloadError):
        unpack(damaged, LABEL, layout)


def test_without_a_checksum_the_values_are_taken_as_they_are():
    damaged = message()
    damaged[24] ^= 1
    assert not torch.equal(unpack(damaged, LABEL, layout)[1][0], PARTS[0])


def test_a_hostile_count_cannot_reach_outside_the_message():
    for aux in (0, 4, 2**31, 2**32 - 1):
        hostile = pack(LABEL, aux, PARTS)
        with pytest.raises(PayloadError, match="should have"):
            unpack(hostile, LABEL, layout)


def test_long_runs_do_not_overflow_the_header():
    far = Label(method=70_000, bucket=70_000, step=2**32 + 7, numel=5)
    assert unpack(pack(far, 3, PARTS), far, layout)[0] == 3


def test_settings_of_a_codec_have_tags_of_their_own():
    texts = ["topk(0.01)", "topk(0.1)", "qsgd(4)", "qsgd(8)", "sign(1024)", "topk(0.01) | qsgd(4)"]
    assert len({method_tag(t) for t in texts}) == len(texts)
    assert all(0 <= method_tag(t) < 2**16 for t in texts)


def test_parts_stand_in_order_of_falling_size():
    with pytest.raises(AssertionError, match="falling"):
        pack(LABEL, 0, PARTS[::-1])


def test_parts_made_in_their_message_are_not_copied():
    scale, codes = blank((Part(torch.float32, 3), Part(torch.uint8, 5)))
    scale.copy_(torch.tensor([1.0, 2.0, 3.0]))
    codes.copy_(torch.arange(5, dtype=torch.uint8))
    message = pack(LABEL, 0, (scale, codes))
    assert message.data_ptr() + HEADER_BYTES == scale.data_ptr()
    _, parts = unpack(message, LABEL, lambda *_: (Part(torch.float32, 3), Part(torch.uint8, 5)))
    assert [p.tolist() for p in parts] == [[1, 2, 3], [0, 1, 2, 3, 4]]


def test_parts_in_another_order_or_with_a_stranger_are_copied():
    a, b = blank((Part(torch.uint8, 3), Part(torch.uint8, 3)))
    for parts in ((b, a), (a,), (a, b.clone()), (a.clone(), b)):
        message = pack(LABEL, 0, parts)
        assert message.data_ptr() + HEADER_BYTES != parts[0].data_ptr()
        assert message[HEADER_BYTES:].tolist() == [v for p in parts for v in p.tolist()]
