"""Everything Laconic raises on purpose.

LaconicError
├── PlanError         a plan that cannot be read or cannot work
├── MismatchError     ranks disagree about the model, the plan or the version
├── NonFiniteError    a gradient holds NaN or infinity
├── PeerError         a rank is missing, died, or did not answer in time
├── PayloadError      bytes that are not the message we expected
├── StateError        a checkpoint that does not fit this run
├── KernelError       a compiled kernel cannot be built here; plain torch takes its place
└── UsageError        a call that cannot mean anything useful
"""

from __future__ import annotations


class LaconicError(Exception):
    """What happened, the value seen, and what to do, in one sentence."""


class PlanError(LaconicError):
    pass


class MismatchError(LaconicError):
    pass


class NonFiniteError(LaconicError):
    pass


class PeerError(LaconicError):
    pass


class PayloadError(LaconicError):
    pass


class StateError(LaconicError):
    pass


class KernelError(LaconicError):
    pass


class UsageError(LaconicError):
    pass
