"""What a server remembers between exchanges: the error memory of every chunk, by version.

Two versions are kept: the one the last exchange started from, and the one it left. Which of them the next exchange
starts from tells whether the last step was committed. Version 0 is an empty memory.
"""

from __future__ import annotations

import torch
from torch import Tensor

from laconic.core.errors import StateError
from laconic.core.exchange import Clerk

Key = tuple[int, int, int]


class Shelf:
    def __init__(self) -> None:
        self._kept: dict[Key, dict[int, Tensor]] = {}

    def serve(self, clerk: Clerk, messages: list[Tensor], base: int, made: int) -> Tensor:
        """What all workers are told about this chunk; keeps the error of it as version `made`."""
        error = self._recall(clerk, base)
        reply, left = clerk.reply(messages, error, made - 1)
        if clerk.memory_size:
            self._kept[clerk.key] = {base: error, made: left}
        return reply

    def kept(self, key: Key) -> list[tuple[int, Tensor]]:
        """Version and memory, oldest first; an empty memory is none."""
        return sorted(((v, e) for v, e in self._kept.get(key, {}).items() if v), key=lambda one: one[0])

    def remind(self, key: Key, version: int, error: Tensor) -> None:
        """Put back what a checkpoint holds."""
        self._kept.setdefault(key, {})[version] = error

    def _recall(self, clerk: Clerk, version: int) -> Tensor:
        if version == 0 or clerk.memory_size == 0:
            return torch.zeros(clerk.memory_size)
        kept = self._kept.get(clerk.key, {})
        error = kept.get(version)
        if error is None or error.numel() != clerk.memory_size:
            raise StateError(
                f"The server has no error memory of version {version} for bucket {clerk.key[0]}, chunk {clerk.key[2]}; "
                f"it has {sorted(kept) or 'none'}. It was restarted, or a replica's state was loaded that does not "
                f"belong to it. Load every rank's own checkpoint, or start without."
            )
        return error
