"""Which implementation runs: compiled for the device the tensor is on, else plain torch, with one warning.

A kernel is chosen by its first argument, a tensor. Compiled implementations are imported when they are first needed,
so that `import laconic` does not pay for numba. Where they are missing or do not compile, the reference runs instead:
the same bits, only slower, and said once.
"""

from __future__ import annotations

import functools
import importlib
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar, cast

from torch import Tensor

from laconic.core.errors import KernelError

P = ParamSpec("P")
R = TypeVar("R")

COMPILED = {"cpu": "laconic.kernels.cpu", "cuda": "laconic.kernels.cuda"}  # device -> module with a table KERNELS
NONE: Mapping[str, Callable[..., Any]] = {}


class _Choice:
    """The tables of compiled kernels by device, as far as they were needed."""

    def __init__(self) -> None:
        self.tables: dict[str, Mapping[str, Callable[..., Any]]] = {}
        self.plain = False
        self._lock = threading.Lock()

    def of(self, device: str) -> Mapping[str, Callable[..., Any]]:
        if self.plain:
            return NONE
        table = self.tables.get(device)
        return table if table is not None else self._load(device)

    def _load(self, device: str) -> Mapping[str, Callable[..., Any]]:
        """One thread imports, the others wait: who did not would compute in plain torch, equal only up to rounding."""
        with self._lock:
            if device not in self.tables:
                try:
                    known = device in COMPILED
                    self.tables[device] = importlib.import_module(COMPILED[device]).KERNELS if known else NONE
                except (ImportError, KernelError) as error:
                    self.give_up(device, error)
            return self.tables[device]

    def give_up(self, device: str, why: Exception) -> None:
        self.tables[device] = NONE
        warnings.warn(
            f"Compiled kernels do not work for {device} tensors here ({str(why).rstrip('.')}); plain torch takes their "
            f"place, which is slower. `laconic doctor` says what to install.",
            stacklevel=4,
        )


_choice = _Choice()


def dispatched(reference: Callable[P, R]) -> Callable[P, R]:
    """The function of this name that is compiled for its first argument's device, or this one."""
    name = reference.__name__

    @functools.wraps(reference)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        device = cast(Tensor, args[0]).device.type
        fast = _choice.of(device).get(name)
        if fast is not None:
            try:
                return cast(R, fast(*args, **kwargs))
            except KernelError as error:  # raised before anything is written
                _choice.give_up(device, error)
        return reference(*args, **kwargs)

    return call


@contextmanager
def plain() -> Iterator[None]:
    """Within: the reference only, in the whole process. To compare with."""
    before, _choice.plain = _choice.plain, True
    try:
        yield
    finally:
        _choice.plain = before


def compiled(device: str) -> bool:
    """Whether compiled kernels run for tensors of this device, as far as is known: one may still fail to compile."""
    return bool(_choice.of(device))


def fault(device: str) -> str | None:
    """None where compiled kernels work for this device, else why they do not. Builds one to see."""
    try:
        importlib.import_module(COMPILED[device]).check()
    except (ImportError, KernelError) as error:
        return str(error)
    return None
