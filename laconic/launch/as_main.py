"""Run a script or a module in this process as `python` would have run it.

`runpy` does not fit: it takes `__main__` away again before `atexit` handlers run. Differs from a fresh interpreter:
modules that were imported before stay imported, the seed of `hash` is the zygote's, and a traceback starts at the
script.
"""

from __future__ import annotations

import importlib.machinery
import io
import os
import runpy
import sys
from types import ModuleType, TracebackType

from laconic.launch.order import Script

INTERRUPTED = 130


def run_as_main(script: Script) -> None:
    """Returns when the script does; SystemExit leaves as it is, others are shown and become SystemExit(1)."""
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    try:
        if script.is_module:
            _run_module(script)
        else:
            _run_file(script, module)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  (whatever it was: shown as the interpreter shows it)
        _show(error, module)
        sys.exit(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1)


def _run_module(script: Script) -> None:
    _set_first_path(os.getcwd())  # noqa: PTH109  (a string is what belongs there)
    sys.argv = ["-m", *script.args]  # the next line replaces the first word by the file's path
    runpy._run_module_as_main(script.target)  # type: ignore[attr-defined]  # noqa: SLF001  (what `python -m` calls)


def _run_file(script: Script, module: ModuleType) -> None:
    path = os.path.abspath(script.target)  # noqa: PTH100  (as the interpreter does, which keeps `..` and links)
    sys.argv = [script.target, *script.args]
    _set_first_path(os.path.dirname(os.path.realpath(path)))  # noqa: PTH120
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file '{path}': {error}", file=sys.stderr)
        sys.exit(2)
    module.__file__ = path
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102  (the user's own script)


def _set_first_path(folder: str) -> None:
    """In place of the zygote's own first entry; `python -P` wants none."""
    sys.path[:1] = [] if sys.flags.safe_path else [folder]


def _show(error: BaseException, module: ModuleType) -> None:
    """Through `sys.excepthook`, with the variables the interpreter would set: laconic.session asks for `last_value`."""
    seen = error.with_traceback(_from_script(error.__traceback__, module))
    sys.last_type, sys.last_value, sys.last_traceback = type(seen), seen, seen.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = seen
    sys.stdout.flush()
    sys.excepthook(type(seen), seen, seen.__traceback__)


def _from_script(trace: TracebackType | None, module: ModuleType) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_globals is not module.__dict__:
        trace = trace.tb_next
    return trace
