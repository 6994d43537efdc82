"""Which kernel runs: compiled where it can be, plain torch where not, and then it says so once."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from types import SimpleNamespace

import pytest
import torch

from laconic import kernels
from laconic.core.errors import KernelError
from laconic.kernels import choose, reference
from laconic.kernels.cpu import KERNELS, pack


@pytest.fixture
def choice(monkeypatch: pytest.MonkeyPatch) -> choose._Choice:
    fresh = choose._Choice()
    monkeypatch.setattr(choose, "_choice", fresh)
    return fresh


CODES = torch.tensor([1, 2, 3], dtype=torch.uint8)


def test_every_compiled_kernel_has_a_reference_and_a_public_name():
    for name in KERNELS:
        assert callable(getattr(reference, name)), name
        assert getattr(kernels, name).__wrapped__ is getattr(reference, name), name
        assert name in kernels.__all__


def test_a_cpu_tensor_takes_the_compiled_kernel(choice: choose._Choice, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(KERNELS, "pack", lambda codes, bits: "compiled")
    assert kernels.pack(CODES, 4) == "compiled"
    with choose.plain():
        assert kernels.pack(CODES, 4).tolist() == [0x21, 3]
    assert kernels.pack(CODES, 4) == "compiled"


def test_without_numba_plain_torch_runs_and_says_so_once(choice: choose._Choice, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(choose.COMPILED, "cpu", "laconic.kernels.not_there")
    with pytest.warns(UserWarning, match=r"do not work for cpu tensors.*not_there.*laconic doctor"):
        assert kernels.pack(CODES, 4).tolist() == [0x21, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernels.unpack(kernels.pack(CODES, 4), 4, 3).tolist() == [1, 2, 3]


def test_a_thread_that_comes_while_another_imports_waits(choice: choose._Choice, monkeypatch: pytest.MonkeyPatch):
    importing, go, table, got = threading.Event(), threading.Event(), SimpleNamespace(KERNELS={"pack": len}), []

    def slow(name: str) -> SimpleNamespace:
        importing.set()
        assert go.wait(30)
        return table

    monkeypatch.setattr(choose.importlib, "import_module", slow)
    threads = [threading.Thread(target=lambda: got.append(choice.of("cpu"))) for _ in range(2)]
    threads[0].start()
    assert importing.wait(30)
    threads[1].start()
    threads[1].join(0.2)  # it would have its answer by now if it did not wait
    go.set()
    for thread in threads:
        thread.join(30)
    assert got == [table.KERNELS] * 2


def test_a_kernel_that_does_not_compile_is_replaced(choice: choose._Choice, monkeypatch: pytest.MonkeyPatch):
    def refuse(*args: object) -> None:
        raise KernelError("numba could not compile 'pack_chunks': no space left")

    monkeypatch.setitem(KERNELS, "pack", refuse)
    with pytest.warns(UserWarning, match="no space left"):
        assert kernels.pack(CODES, 4).tolist() == [0x21, 3]
    assert choice.tables["cpu"] == {}


def test_devices_nobody_compiled_for_use_plain_torch(choice: choose._Choice):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernels.pack(CODES.to("meta"), 4).shape == (2,)


def test_a_fault_is_named(monkeypatch: pytest.MonkeyPatch):
    assert choose.fault("cpu") is None
    monkeypatch.setitem(choose.COMPILED, "cpu", "laconic.kernels.not_there")
    assert "not_there" in str(choose.fault("cpu"))


def test_importing_laconic_does_not_import_numba():
    code = "import sys, laconic, laconic.compress; sys.exit('numba' in sys.modules or 'triton' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_wrong_tensors_are_refused_not_read():
    from laconic.core.errors import UsageError

    with pytest.raises(UsageError, match=r"needs a contiguous tensor of torch\.uint8"):
        pack.pack(torch.zeros(3), 4)
