"""Jobs for real: forked ranks look like ranks of torchrun, end like scripts end, and none outlives its job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from laconic.core.errors import UsageError
from laconic.launch import job as job_module
from laconic.launch import zygote as zygote_module
from laconic.launch.job import Job, Script, Site, local_sites
from laconic.launch.zygote import zygote_for

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="ranks are forked on Linux only"),
    pytest.mark.timeout(300),  # the first job imports torch, on a machine that may be busy
]
LONG_S = 200.0


def written(folder: Path, text: str) -> Script:
    path = folder / "script.py"
    path.write_text(text)
    return Script(str(path), is_module=False, args=(str(folder),))


def run(script: Script, sites: list[Site], **options: Any) -> tuple[int | None, str]:
    """The exit code and all output."""
    output = Path(script.args[0]) / "output.txt"
    with Job(script, sites, output=output, **options) as job:
        code = job.wait(LONG_S)
    return code, output.read_text()


def until(seen: Callable[[], bool]) -> None:
    """Other processes need a moment; a condition that never comes true is the test's time limit."""
    while not seen():
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def test_a_rank_finds_what_torchrun_and_python_would_have_given_it(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        "import json, os, sys; from pathlib import Path; import __main__\n"
        "keys = ('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE', 'MASTER_ADDR', 'OMP_NUM_THREADS', 'COLOUR')\n"
        "seen = {key: os.environ.get(key) for key in keys}\n"
        "seen |= {'argv': sys.argv, 'path': sys.path[0], 'file': __file__, 'in': os.getcwd()}\n"
        "seen |= {'main': __main__.keys is keys}\n"
        "seen |= {'threads': len(os.listdir('/proc/self/task')), 'stdin': sys.stdin.read()}\n"
        "(Path(sys.argv[1]) / os.environ['RANK']).write_text(json.dumps(seen))\n",
    )
    code, output = run(script, local_sites(2), per_site=2, env={"COLOUR": "red"})
    assert (code, output) == (0, "")
    seen = [json.loads((tmp_path / str(rank)).read_text()) for rank in range(4)]
    assert [each["RANK"] for each in seen] == ["0", "1", "2", "3"]
    assert [each["LOCAL_RANK"] for each in seen] == ["0", "1", "2", "3"]  # one machine
    assert {each["LOCAL_WORLD_SIZE"] for each in seen} == {"4"}
    assert {(each["WORLD_SIZE"], each["MASTER_ADDR"], each["COLOUR"]) for each in seen} == {("4", "127.0.0.1", "red")}
    assert seen[0]["argv"] == [script.target, str(tmp_path)]
    assert (seen[0]["path"], seen[0]["file"], seen[0]["in"]) == (str(tmp_path), script.target, str(Path.cwd()))
    assert seen[0]["main"]
    assert (seen[0]["threads"], seen[0]["stdin"]) == (1, "")


def test_a_module_runs_as_python_m_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tool.py").write_text(
        "import sys; print(__name__, __spec__.name, sys.argv, sys.path[0], 'future' in vars())"
    )
    monkeypatch.chdir(tmp_path)
    output = tmp_path / "output.txt"
    with Job(Script("tool", is_module=True, args=("-x",)), local_sites(1), output=output) as job:
        assert job.wait(LONG_S) == 0
    assert output.read_text() == f"__main__ tool {[str(tmp_path / 'tool.py'), '-x']} {tmp_path} False\n"


def test_ranks_meet_and_two_jobs_at_once_do_not_collide(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        "import os, torch, torch.distributed as dist, laconic\n"
        "session = laconic.init()\n"
        "x = torch.tensor([float(session.rank)]); dist.all_reduce(x)\n"
        "open(f'{os.environ[\"OUT\"]}{session.rank}', 'w').write(str(x.item()))\n",
    )
    outs = [tmp_path / "first", tmp_path / "second"]
    with (
        Job(script, local_sites(2), env={"OUT": str(outs[0])}) as first,
        Job(script, local_sites(2), env={"OUT": str(outs[1])}) as second,
    ):
        assert (first.wait(LONG_S), second.wait(LONG_S)) == (0, 0)
    assert {Path(f"{out}{rank}").read_text() for out in outs for rank in range(2)} == {"1.0"}


@pytest.mark.parametrize(
    ("ending", "code", "said"),
    [
        ("sys.exit(7)", 7, ""),
        ("sys.exit('out of luck')", 1, "out of luck"),
        ("sys.exit()", 0, ""),
        ("1 / 0", 1, 'Traceback (most recent call last):\n  File "{script}", line 3, in <module>'),
        ("os.kill(os.getpid(), 9)", 137, ""),
        ("file = open(sys.argv[1] + '/unflushed', 'w'); file.write('x')", 0, ""),
    ],
)
def test_a_rank_ends_as_a_script_ends(tmp_path: Path, ending: str, code: int, said: str) -> None:
    script = written(
        tmp_path,
        "import atexit, os, sys\n"
        "atexit.register(lambda: print('last words', getattr(sys, 'last_value', None)))\n" + ending + "\n",
    )
    seen, output = run(script, local_sites(1))
    assert seen == code
    assert said.format(script=script.target) in output.replace("[rank0]: ", "")
    assert ("last words" in output) == (code != 137)
    if "1 / 0" in ending:
        assert "last words division by zero" in output
    if "unflushed" in ending:
        assert (tmp_path / "unflushed").read_text() == "x"


def test_a_syntax_error_and_a_missing_module_are_the_users_to_read(tmp_path: Path) -> None:
    code, output = run(written(tmp_path, "def def\n"), local_sites(1))
    assert code == 1
    assert "SyntaxError" in output
    assert "laconic" not in output.replace(str(tmp_path), "")
    code, output = run(Script("no_such_module", is_module=True, args=(str(tmp_path),)), local_sites(1))
    assert code == 1
    assert "No module named no_such_module" in output


def test_the_first_failure_decides_and_the_others_are_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "GRACE_S", 0.1)
    script = written(tmp_path, "import os, signal, sys\nif os.environ['RANK'] == '1': sys.exit(3)\nsignal.pause()\n")
    with Job(script, local_sites(3)) as job:
        assert job.wait(LONG_S) == 3
        (failure,) = job.failures
    assert (failure.rank, failure.status) == (1, 3)
    assert str(failure) == f"rank 1 (pid {failure.pid}) ended with exit code 3"


def test_leaving_ends_also_a_rank_that_will_not_and_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_module, "TERM_S", 0.1)
    script = written(
        tmp_path,
        "import os, signal, subprocess, sys\nfrom pathlib import Path\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        "half = Path(sys.argv[1], 'half'); half.write_text(f'{os.getpid()} {child.pid}')\n"
        "half.rename(Path(sys.argv[1], 'pids'))\n"
        "while True: signal.pause()\n",
    )
    with Job(script, local_sites(1)) as job:
        until((tmp_path / "pids").exists)
        assert job.wait(0.0) is None
        pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
        assert not any(map(is_gone, pids))
    until(lambda: all(map(is_gone, pids)))


def test_a_slow_rank_is_stopped_again_and_again_and_still_finishes(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        "import os, sys\nfrom pathlib import Path\n"
        "Path(sys.argv[1], 'half').write_text(str(os.getpid()))\n"
        "Path(sys.argv[1], 'half').rename(Path(sys.argv[1], 'pid'))\n"
        "while not Path(sys.argv[1], 'enough').exists(): pass\n",
    )
    with Job(script, [Site("127.0.0.1", share=0.3)]) as job:
        until((tmp_path / "pid").exists)
        status = Path(f"/proc/{(tmp_path / 'pid').read_text()}/status")
        for state in ("T (stopped)", "R (running)") * 2:
            until(lambda state=state: state in status.read_text())
        (tmp_path / "enough").touch()
        assert job.wait(LONG_S) == 0


def test_a_rank_stays_on_the_cores_of_its_site(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    script = written(
        tmp_path, "import os, sys\nopen(sys.argv[1] + '/cores', 'w').write(str(sorted(os.sched_getaffinity(0))))\n"
    )
    assert run(script, [Site("127.0.0.1", cores=(core,))]) == (0, "")
    assert (tmp_path / "cores").read_text() == f"[{core}]"


def test_numpy_draws_differ_between_ranks_and_torch_draws_do_not(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        "import os, sys, numpy, torch\n"
        "open(sys.argv[1] + '/' + os.environ['RANK'], 'w').write(f'{numpy.random.rand()} {torch.rand(1).item()}')\n",
    )
    assert run(script, local_sites(2)) == (0, "")
    first, second = ((tmp_path / rank).read_text().split() for rank in "01")
    assert first[0] != second[0]
    assert first[1] == second[1]  # as in fresh processes: torch's first seed is fixed


def test_sigkill_of_the_launcher_ends_its_ranks(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        "import os, signal, sys\nfrom pathlib import Path\n"
        "Path(sys.argv[1], os.environ['RANK']).write_text(str(os.getpid()))\nsignal.pause()\n",
    )
    launcher = tmp_path / "launcher.py"
    launcher.write_text(
        "from laconic.launch.job import *\n"
        f"Job(Script({script.target!r}, False, ({str(tmp_path)!r},)), local_sites(2)).wait(1000)\n"
    )
    process = subprocess.Popen([sys.executable, str(launcher)], env=os.environ | {"PYTHONPATH": str(Path.cwd())})
    until(lambda: all((tmp_path / rank).exists() and (tmp_path / rank).read_text() for rank in "01"))
    pids = [int((tmp_path / rank).read_text()) for rank in "01"]
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: all(map(is_gone, pids)))


def test_a_lost_rank_is_named_by_its_signal() -> None:
    assert str(job_module.Failure(2, 10, -9)) == "rank 2 (pid 10) was killed by SIGKILL"
    assert job_module.Failure(2, 10, -9).code == 137


def test_nobody_to_run_it_is_refused() -> None:
    with pytest.raises(UsageError, match="nobody to run it"):
        Job(Script("x", is_module=False, args=()), [])
    with pytest.raises(UsageError, match="share of 0"):
        Site("127.0.0.1", share=0.0)


def test_a_zygote_is_shared_by_jobs_that_load_libraries_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        alive = True

        def __init__(self, env: Any) -> None:
            self.env = env

        def close(self) -> None:
            pass

    monkeypatch.setattr(zygote_module, "Zygote", Fake)
    monkeypatch.setattr(zygote_module, "_running", {})
    one = zygote_for({"OMP_NUM_THREADS": "1", "LACONIC_PLAN": "none"})
    assert zygote_for({"OMP_NUM_THREADS": "1", "LACONIC_PLAN": "sign"}) is one
    assert zygote_for({"OMP_NUM_THREADS": "2", "LACONIC_PLAN": "none"}) is not one
