"""Who is where: when a collective fails, survivors leave a note in the job's store and read the others'.

A rank that died or hangs leaves none, so it is the one that gets named.
"""

from __future__ import annotations

import logging
import time

from torch._C._distributed_c10d import PrefixStore, Store

from laconic.drive.base import Place

_GRACE_S = 2.0
_POLL_S = 0.05
_TROUBLE = "trouble"


class Roster:
    def __init__(self, store: Store, rank: int, world: int) -> None:
        self.store = PrefixStore("laconic/roster", store)
        self.rank = rank
        self.world = world

    def note(self, text: str) -> None:
        """Never raises: it is called when things already go wrong."""
        self._write(str(self.rank), text)

    def give_up(self, text: str) -> None:
        """This rank stops by itself, with a reason; nobody needs to wait for it."""
        self.note(text)
        self._write(_TROUBLE, str(self.rank))

    def trouble(self) -> bool:
        """Has some rank given up? Then waiting for it is of no use, though nobody I am connected to has died."""
        return self._read(_TROUBLE) is not None

    def explain(self, place: Place, cause: str) -> str:
        """One sentence: what I waited for, and which ranks did not arrive."""
        head = f"Rank {self.rank} lost a peer at {place}: {cause}."
        # At once: a launcher that saw the peer die may end this process before the others have answered.
        logging.getLogger("laconic").error("%s Asking the others ...", head)
        self.note(f"waited at {place}")
        self._write(_TROUBLE, str(self.rank))
        notes = self._collect()
        silent = [r for r in range(self.world) if r not in notes]
        told = [f"rank {r} {text}" for r, text in notes.items() if not text.startswith("waited at")]
        if told:
            return f"{head} {'; '.join(told)}."
        if silent:
            ranks = ", ".join(map(str, silent))
            return f"{head} No sign of rank {ranks}: it died, hangs or is cut off. See its own output."
        elsewhere = [f"rank {r} {text}" for r, text in notes.items() if r != self.rank]
        return f"{head} All ranks are alive: {'; '.join(elsewhere)}."

    def _collect(self) -> dict[int, str]:
        notes: dict[int, str] = {}
        end = time.monotonic() + _GRACE_S
        while len(notes) < self.world and time.monotonic() < end:
            for r in range(self.world):
                text = self._read(str(r)) if r not in notes else None
                if text is not None:
                    notes[r] = text
            time.sleep(_POLL_S)
        return notes

    def _write(self, key: str, text: str) -> None:
        try:
            self.store.set(key, text)
        except RuntimeError:  # the store may have died with its host
            return

    def _read(self, key: str) -> str | None:
        try:
            return self.store.get(key).decode() if self.store.check([key]) else None
        except RuntimeError:  # see _write()
            return None
