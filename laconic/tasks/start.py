"""How a task's module runs as a script: a foreseen error is a sentence, and the job is left in good order.

Without `destroy_process_group` gloo's threads outlive the interpreter and now and then abort the process after its
work is done ("terminate called without an active exception", pytorch/pytorch#190489); seen in 1 of 12
four-process runs here.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

import torch.distributed as dist

from laconic.core.errors import LaconicError


def start(main: Callable[[], object]) -> None:
    try:
        main()
    except LaconicError as error:
        sys.exit(f"{type(error).__name__}: {error}")
    if dist.is_initialized():
        gc.collect()  # a replica that is still alive keeps its group, and the group its threads
        dist.destroy_process_group()
