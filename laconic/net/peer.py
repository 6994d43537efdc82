"""One peer of a mailbox: what is expected of its next frame, and its payload as a tensor."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import zmq
from torch import Tensor

from laconic.net import lines
from laconic.net.frames import FIRST_OWN, Frame, Kind, Tag

_MOST_HELLO_BYTES = 1 << 16


class Letter(NamedTuple):
    sender: str
    kind: int
    tag: Tag
    word: int
    payload: Tensor

    @property
    def text(self) -> str:
        return bytes(self.payload.numpy()).decode(errors="replace")


@dataclass
class Peer:
    socket: lines.Socket
    name: str = ""
    route: bytes | None = None  # its address on my listening socket; None: I called
    fd: int = -1
    monitor: lines.Socket | None = None
    hello: bytes = b""  # what I say when the line stands
    refusal: str = ""  # why it did not let me in
    failed_at: float = math.inf  # when it first broke off while keys were exchanged
    theirs: int = 0  # the session that frames to it must carry; 0: hands were not shaken yet
    mine: int = 0
    sent: int = 0
    heard: int = 0

    def next_frame(self, kind: int, tensor: Tensor, tag: Tag = Tag(), word: int = 0) -> Frame:  # noqa: B008  (a constant)
        self.sent += 1
        return Frame(kind, tag, word, tensor.dtype, tuple(tensor.shape), self.theirs, self.sent)

    def objection(self, frame: Frame) -> tuple[str, str] | None:
        """Why a frame of somebody who should be known is not accepted: a word to count by, and a sentence."""
        if not self.theirs:
            return "stranger", f"a frame of kind {frame.kind} came before its sender said who it is"
        if frame.session != self.mine:
            return "session", f"{self.name} sent a frame of another session"
        if frame.sequence <= self.heard:
            return "replay", f"{self.name} sent frame {frame.sequence} again; {self.heard} came already"
        if frame.kind < FIRST_OWN and frame.kind != Kind.BYE:
            return "garbage", f"{self.name} sent a frame of kind {frame.kind} in the wrong place"
        return None


def as_tensor(frame: Frame, payload: zmq.Frame) -> Tensor:
    """The payload where it lies; copied only if it lies askew."""
    if frame.length == 0:
        return torch.empty(frame.shape, dtype=frame.dtype)
    raw = torch.frombuffer(payload.buffer, dtype=torch.uint8)
    if raw.data_ptr() % frame.dtype.itemsize:
        raw = raw.clone()
    return raw.view(frame.dtype).view(frame.shape)


def encoded(text: str) -> Tensor:
    raw = bytearray(text.encode())
    return torch.frombuffer(raw, dtype=torch.uint8) if raw else torch.empty(0, dtype=torch.uint8)


def words_of(frame: Frame, payload: zmq.Frame) -> dict[str, Any]:
    if frame.length > _MOST_HELLO_BYTES:
        return {}
    try:
        words = json.loads(bytes(payload.buffer))
    except (ValueError, RecursionError):
        return {}
    return words if isinstance(words, dict) else {}
