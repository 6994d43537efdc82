"""Who may join a job: whoever holds its key pair.

One CURVE key pair a job (Curve25519; every connection is encrypted and authenticated with keys of its own). Servers and
workers hold the same pair: a listener lets in only those that prove they know the secret half, and a caller speaks only
to a listener that does. A key file is text, readable by its owner alone:

    laconic job key 1
    public <40 characters>
    secret <40 characters>
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

import zmq

from laconic.core.errors import UsageError

_TITLE = "laconic job key 1"
_LENGTH = 40


@dataclass(frozen=True, repr=False)
class Keys:
    public: str
    secret: str

    def __post_init__(self) -> None:
        for half in (self.public, self.secret):
            if len(half) != _LENGTH or not half.isascii():
                raise UsageError("A job key has two halves of 40 characters each. Make one with `laconic keygen FILE`.")
        try:
            fits = zmq.curve_public(self.secret.encode()) == self.public.encode()
        except (ValueError, zmq.ZMQError):
            fits = False
        if not fits:
            raise UsageError("The two halves of this job key do not belong together: it was damaged or mixed up.")

    def __repr__(self) -> str:
        return f"Keys(public={self.public!r}, secret=...)"  # secrets do not belong in logs

    @classmethod
    def make(cls) -> Keys:
        public, secret = zmq.curve_keypair()
        return cls(public.decode(), secret.decode())

    def text(self) -> str:
        """For a variable of the environment; `from_text` reads it."""
        return f"{self.public} {self.secret}"

    @classmethod
    def from_text(cls, text: str) -> Keys:
        words = text.split()
        if len(words) != 2:
            raise UsageError("A job key in the environment is two words of 40 characters.")
        return cls(*words)


def write_keys(path: Path, keys: Keys) -> None:
    """A new file that only its owner can read; an existing one is never replaced."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists already. Jobs that use it would be locked out; choose another name.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
    with os.fdopen(handle, "w") as file:
        file.write(f"{_TITLE}\npublic {keys.public}\nsecret {keys.secret}\n")


def read_keys(path: Path) -> Keys:
    try:
        mode, lines = path.stat().st_mode, path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The job key {path} cannot be read: {error}. Make one with `laconic keygen {path}`."
        ) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"The job key {path} can be read by others (mode {mode & 0o777:o}). Say `chmod 600 {path}`.")
    words = [line.split() for line in lines[1:]]
    if lines[:1] != [_TITLE] or [w[0] for w in words if w] != ["public", "secret"] or any(len(w) != 2 for w in words):
        raise UsageError(f"{path} is not a job key. Make one with `laconic keygen FILE`.")
    return Keys(words[0][1], words[1][1])
