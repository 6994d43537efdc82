"""A program of its own, without torch: run by init.py inside, it tries everything a lab needs and prints what it found.

python -I probe.py IP TC      ->  {"fault": null, "netem": false}
"""

from __future__ import annotations

import json
import subprocess
import sys

TBF = "qdisc add dev port0 root tbf rate 1mbit burst 3kb limit 9kb"
NETEM = "qdisc add dev port1 root netem delay 1ms"


def main(ip: str, tc: str) -> None:
    steps = (
        ("a bridge", [ip, "link", "add", "switch", "type", "bridge"]),
        ("a pair of virtual links", [ip, "link", "add", "port0", "type", "veth", "peer", "name", "port1"]),
        ("a named network namespace", [ip, "netns", "add", "host0"]),
        ("a token bucket filter", [tc, *TBF.split()]),
    )
    faults = (f"{what} was refused ({problem})" for what, command in steps if (problem := attempt(command)))
    fault = next(faults, None)
    netem = attempt([tc, *NETEM.split()])
    print(json.dumps({"fault": fault, "netem": netem is None and fault is None}))


def attempt(command: list[str]) -> str | None:
    """None if it worked, else the last line of what it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = (done.stderr or done.stdout).strip().splitlines()
    return None if done.returncode == 0 else (lines or [f"exit code {done.returncode}"])[-1]


if __name__ == "__main__":
    main(*sys.argv[1:])
