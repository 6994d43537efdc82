"""Compiled once a machine: kernels are built when first called and kept in a folder of the user's.

The folder is named after everything a kernel depends on: the sources of this package, numba, LLVM and the processor
(numba itself looks only at the one file a function stands in). It lies in NUMBA_CACHE_DIR if that is set, else in
~/.cache/laconic, else in the temporary folder; the place of installation may be read-only. Ranks that start together
take turns: the first compiles, the others load.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import config

from laconic.core.errors import KernelError

try:
    import fcntl
except ImportError:  # Windows: ranks may compile the same kernel, files are replaced whole
    fcntl = None  # type: ignore[assignment]

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}

# A part of kernels: built into each that uses it; Python never calls it.
part: Callable[[Callable[..., Any]], Any] = numba.njit(**_OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)

_setting = threading.Lock()  # of numba's CACHE_DIR


class Kernel:
    """A function of arrays with one signature; compiled, or loaded, when it is first called."""

    def __init__(self, function: Callable[..., Any], signature: str) -> None:
        self.name = function.__name__
        self.function, self.signature = function, signature
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        return (self._compiled or self.load())(*args)

    def load(self) -> Any:
        folder = cache_folder()
        try:
            self._compiled = self._load(folder)
        except Exception as error:  # noqa: BLE001  (whatever numba, LLVM or the disk may say)
            self._compiled = self._load_anew(folder, error)
        return self._compiled

    def _load_anew(self, folder: Path | None, first: Exception) -> Any:
        """A file damaged in the folder must not stand in the way for ever: without it, once more."""
        try:
            if folder is not None:
                for file in [
                    self._mark(folder),
                    *folder.rglob(f"{Path(self.function.__code__.co_filename).stem}.{self.name}-*"),
                ]:
                    file.unlink(missing_ok=True)
            return self._load(folder)
        except Exception as error:
            raise KernelError(f"numba could not compile {self.name!r}: {_first_line(first)}") from error

    def _load(self, folder: Path | None) -> Any:
        dispatcher: Any = numba.njit(**_OPTIONS, no_cfunc_wrapper=True)(self.function)
        if folder is None:
            dispatcher.compile(self.signature)
        else:
            with _caching_in(folder):
                dispatcher.enable_caching()
            mark = self._mark(folder)
            with contextlib.nullcontext() if mark.exists() else _alone_in(folder):
                dispatcher.compile(self.signature)
                mark.touch()
        dispatcher.disable_compile()  # other types are an error, not another compilation
        return dispatcher

    def _mark(self, folder: Path) -> Path:
        """Stands there once the kernel has been compiled: no need to queue for loading it."""
        return folder / f"{self.function.__module__}.{self.name}.ready"


def kernel(signature: str) -> Callable[[Callable[..., Any]], Kernel]:
    return lambda function: Kernel(function, signature)


@functools.cache
def cache_folder() -> Path | None:
    """Where compiled kernels are kept; None where nothing can be written at all."""
    name = f"kernels-{_fingerprint()}"
    with _setting:  # else another thread's `_caching_in` could pass for the user's own
        chosen = config.CACHE_DIR
    places = [Path(chosen) / "laconic"] if chosen else [_home(), _temporary()]
    for place in filter(None, places):
        with contextlib.suppress(OSError):
            folder = place / name
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_ours(folder):
                tempfile.TemporaryFile(dir=folder).close()  # can it be written?
                return folder
    return None


def _home() -> Path | None:
    try:
        return Path.home() / ".cache" / "laconic"
    except RuntimeError:  # a user without a home
        return None


def _temporary() -> Path:
    return Path(tempfile.gettempdir()) / f"laconic-{_user()}"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_ours(folder: Path) -> bool:
    """Compiled code is loaded from here: nobody else may be able to put some."""
    if not hasattr(os, "getuid"):
        return True
    seen = folder.stat()
    return seen.st_uid == _user() and not seen.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _fingerprint() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    words = [numba.__version__, importlib.metadata.version("llvmlite"), llvm.get_host_cpu_name()]
    digest = hashlib.sha256("\n".join([*words, llvm.get_host_cpu_features().flatten()]).encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _caching_in(folder: Path) -> Iterator[None]:
    """numba asks for its folder when caching is switched on; the user's own setting is put back.

    The setting is the process's: a lane that loads another kernel meanwhile would put it back too early, and numba
    would write into the working directory.
    """
    with _setting:
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            yield
        finally:
            config.CACHE_DIR = before


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """One process at a time; the lock goes with the process, however it ends."""
    with (folder / "lock").open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:200].rstrip('.')}" if lines else type(error).__name__
