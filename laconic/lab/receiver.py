"""A program of its own, without torch: the far end of a measured path, on a connected socket given as a handle.

    python -I receiver.py HANDLE

For each message: four bytes that say its length, answered by one; then the message, answered by the time its last
byte came.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import time

HEADER, MOMENT = struct.Struct("<I"), struct.Struct("<d")
GO = b"!"


def main(handle: int) -> None:
    room = bytearray(1 << 20)
    with socket.socket(fileno=handle) as sender:
        while header := sender.recv(HEADER.size, socket.MSG_WAITALL):
            sender.sendall(GO)
            (left,) = HEADER.unpack(header)
            while left:
                left -= sender.recv_into(room, min(left, len(room)))
            sender.sendall(MOMENT.pack(time.monotonic()))


if __name__ == "__main__":
    with contextlib.suppress(ConnectionError):  # the check was interrupted
        main(int(sys.argv[1]))
