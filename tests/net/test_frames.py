from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from laconic.core.errors import PayloadError
from laconic.net import frames
from laconic.net.frames import DTYPES, Frame, Tag, read, write

PAYLOAD = bytes(range(24))
FRAME = Frame(20, Tag(7, 3, 2, 1, 9), 11, torch.float32, (2, 3), 1 << 62, 5)


def test_what_is_written_is_read():
    assert read(write(FRAME, PAYLOAD), PAYLOAD, 24) == FRAME


@given(
    st.integers(0, 255),
    st.tuples(*[st.integers(0, 2**b - 1) for b in (32, 32, 16, 16, 32)]),
    st.integers(0, 2**64 - 1),
    st.sampled_from(DTYPES),
    st.lists(st.integers(0, 3), max_size=8),
    st.booleans(),
)
def test_every_frame_survives_the_trip(kind, tag, word, dtype, shape, whole):
    frame = Frame(kind, Tag(*tag), word, dtype, tuple(shape), word, word)
    payload = bytes(frame.length)
    header = write(frame, payload, whole=whole)
    assert len(header) == frame.header_bytes
    assert read(header, payload, frame.length, whole=whole) == frame


def test_any_flipped_bit_is_noticed():
    header = write(FRAME, PAYLOAD)
    for bit in range(8 * len(header)):
        damaged = bytearray(header)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(PayloadError):
            read(bytes(damaged), PAYLOAD, 24)
    for bit in range(8 * len(PAYLOAD)):
        damaged = bytearray(PAYLOAD)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(PayloadError, match="checksum"):
            read(header, bytes(damaged), 24)


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_garbage_is_refused_in_a_sentence(header, payload):
    with pytest.raises(PayloadError, match=r"frame|header"):
        read(header, payload, 1 << 20)


@pytest.mark.parametrize("cut", range(0, 76, 5))
def test_a_truncated_frame_is_refused(cut):
    with pytest.raises(PayloadError):
        read(write(FRAME, PAYLOAD)[:cut], PAYLOAD, 24)


def test_a_payload_above_the_limit_is_refused_before_anything_is_made_of_it():
    with pytest.raises(PayloadError, match="24 bytes, carries 24 and may carry 23"):
        read(write(FRAME, PAYLOAD), PAYLOAD, 23)


def test_a_shape_that_does_not_fit_its_bytes_is_refused():
    liar = Frame(20, shape=(1 << 40, 1 << 40, 0))
    assert liar.length == 0
    assert read(write(liar), b"", 0).shape == liar.shape
    header = bytearray(write(Frame(20, shape=(24,)), PAYLOAD))
    header[frames.FIXED_BYTES] = 25
    with pytest.raises(PayloadError, match="cannot have 24 bytes"):
        read(bytes(header), PAYLOAD, 24)


def test_a_checksum_of_the_payload_can_be_insisted_on():
    header = write(FRAME, PAYLOAD, whole=False)
    assert read(header, PAYLOAD, 24, whole=False) == FRAME
    with pytest.raises(PayloadError, match="without a checksum"):
        read(header, PAYLOAD, 24, whole=True)
