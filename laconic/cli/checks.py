"""What `laconic doctor` looks at: each check is one function that returns one `Check`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist

from laconic.cli.loopback import WORLD, all_reduce_fault
from laconic.cli.machine import cores
from laconic.kernels.choose import fault
from laconic.lab.support import NETEM_ADVICE, support
from laconic.tasks.fashion_mnist import DEBIAN_DIR, DEBIAN_PACKAGE
from laconic.topology import GRAPHS, WeightFile

FASHION_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


GOSSIPERS = 8


@dataclass(frozen=True)
class Check:
    """One line of the report; `install` says what to do when it is missing."""

    name: str
    ok: bool
    detail: str
    install: str = ""
    core: bool = False


def python() -> Check:
    """Python 3.11 or newer."""
    ok = sys.version_info >= (3, 11)
    return Check("python", ok, platform.python_version(), "install Python 3.11 or newer", core=True)


def torch_itself() -> Check:
    """The torch that is installed; an older one would not have imported this far."""
    return Check("torch", ok=True, detail=torch.__version__, core=True)


def gloo() -> Check:
    """The backend every test and demo uses."""
    ok = dist.is_available() and dist.is_gloo_available()
    return Check("gloo", ok, "the CPU backend", "pip install torch (with distributed)", core=True)


def all_reduce() -> Check:
    """Two processes, one real sum."""
    fault = all_reduce_fault()
    return Check(
        "all-reduce",
        fault is None,
        fault or f"{WORLD} processes summed a tensor over gloo",
        "export GLOO_SOCKET_IFNAME=lo (or the name of a working network interface)",
        core=True,
    )


def nccl() -> Check:
    """The backend for NVIDIA cards."""
    ok = dist.is_nccl_available()
    return Check("nccl", ok, "the GPU backend", "a CUDA build of torch, on a machine with a GPU")


def mpi() -> Check:
    """Torch offers MPI only when built from source with it."""
    ok = dist.is_mpi_available()
    return Check("mpi", ok, "optional backend", "torch built from source where MPI is installed")


def cuda() -> Check:
    """A usable NVIDIA card."""
    ok = torch.cuda.is_available()
    detail = f"{torch.cuda.device_count()} GPU" if ok else "no GPU: training runs on the CPU"
    return Check("cuda", ok, detail, "an NVIDIA driver and a CUDA build of torch")


def cpu() -> Check:
    """Cores this process may use; never missing."""
    return Check("cores", ok=True, detail=f"{cores()}")


def kernels() -> Check:
    """Compiled hot loops; builds one to see, which may take some seconds the first time."""
    reason = fault("cpu")
    ok = reason is None
    detail = f"numba {importlib.metadata.version('numba')}, kept in {_kept_in()}" if ok else f"plain torch: {reason}"
    return Check("kernels", ok, detail, "pip install numba")


def _kept_in() -> str:
    from laconic.kernels.cpu.compile import cache_folder

    folder = cache_folder()
    return str(folder) if folder else "no folder: none can be written, so every start compiles"


def scikit_learn() -> Check:
    """The digits task trains on its bundled images."""
    ok = importlib.util.find_spec("sklearn") is not None
    detail = importlib.metadata.version("scikit-learn") if ok else "needed by the task digits"
    return Check("scikit-learn", ok, detail, "pip install scikit-learn (the extra laconic[demo])")


def fashion_mnist(folder: Path = DEBIAN_DIR) -> Check:
    """The idx files where Debian puts them, packed or not."""
    found = all((folder / name).is_file() or (folder / f"{name}.gz").is_file() for name in FASHION_FILES)
    detail = str(folder) if found else "needed by the task fashion"
    install = f"apt install {DEBIAN_PACKAGE}, or give the task --data FOLDER"
    return Check("fashion-mnist", found, detail, install)


def gossip() -> Check:
    """How fast models come together on each graph; never missing."""
    graphs = [kind() for kind in GRAPHS if kind is not WeightFile]
    gaps = ", ".join(f"{graph} {graph.gap(GOSSIPERS):.3g}" for graph in graphs)
    return Check("gossip", ok=True, detail=f"spectral gaps of {GOSSIPERS} workers: {gaps}")


def lab() -> Check:
    """Emulated hosts: everything a lab needs is tried once."""
    seen = support()
    how = "without root" if seen.user_namespace else "as root"
    return Check("lab", seen.fault is None, seen.fault or f"emulated hosts with link rates, {how}", seen.advice)


def netem() -> Check:
    """The lab's delay, jitter and loss."""
    return Check("netem", support().netem, "delay, jitter and loss in the lab", NETEM_ADVICE)


CHECKS: tuple[Callable[[], Check], ...] = (
    python,
    torch_itself,
    cpu,
    kernels,
    gloo,
    all_reduce,
    cuda,
    nccl,
    mpi,
    scikit_learn,
    fashion_mnist,
    gossip,
    lab,
    netem,
)
