"""The memory that ten training steps take: memory.py NAME THREADS, in a fresh process; prints JSON, in bytes."""

import json
import pathlib
import sys

import training
from gpts import Sizes, windows


def status(name: str) -> int:
    """A figure of this process in the system's records."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"the system does not tell {name}")


def main() -> None:
    name, threads = sys.argv[1], int(sys.argv[2])
    sizes, facts = Sizes(), {}
    batches = windows(sizes, 10)
    if name == "PyPTO":
        import pypto as pto

        pto.zeros(1).numpy()
        facts["base"] = status("VmRSS")
    step = training.MAKERS[name](sizes, threads)
    for batch in batches:
        step(batch)
    if name == "PyPTO":
        facts["plan"] = sum(step.plan()[part] for part in ("inputs", "outputs", "arena"))
    print(json.dumps({**facts, "peak": status("VmHWM")}))


main()
