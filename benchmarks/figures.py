"""The figures of the demo: speed, equality with transformers, and what compiling and calling cost."""

import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from encoders import MAKERS, tokens
from report import Report, machine
from workers import Worker

HERE = pathlib.Path(__file__).parent
COSINE, VALUE = 1e-5, 1e-4


def fresh(name: str, *arguments: str, cache: str) -> dict:
    """The answer of a function of fresh.py, in a process of its own."""
    env = {**os.environ, "PTO_CACHE_DIR": cache}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # the second process finds modules compiled, as users do
    done = subprocess.run([sys.executable, str(HERE / "fresh.py"), name, *arguments], env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench: {name} failed\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(report: Report, directory: pathlib.Path, rounds: int, threads: int) -> None:
    """All in turns, one call each a round; the first round is not counted."""
    print(f"\n32 sentences x 128 tokens, float32, {threads} threads; the best of {rounds} rounds in turns")
    workers = {name: Worker(make, directory, threads) for name, make in MAKERS.items()}
    try:
        full, padded = tokens(32, 128, padded=False), tokens(32, 128, padded=True)
        times: dict[str, list[float]] = {name: [] for name in workers}
        for round_ in range(rounds + 1):
            for name, worker in workers.items():
                seconds, _ = worker(*full)
                if round_ > 0:
                    times[name].append(seconds)
        best = {name: min(all_) for name, all_ in times.items()}
        for name, seconds in best.items():
            report.add(f"{name}, best", seconds, "ms")
        ratios = [a / b for a, b in zip(times["PyPTO"], times["PyTorch"])]
        report.add("PyPTO / PyTorch, best of each", best["PyPTO"] / best["PyTorch"], "", 1)
        report.add("PyPTO / PyTorch, median of the rounds", float(np.median(ratios)), "")
        for kind, given in (("full", full), ("padded", padded)):
            got, want = (workers[name](*given)[1].astype(np.float64) for name in ("PyPTO", "PyTorch"))
            cosine = (got * want).sum(-1) / np.linalg.norm(got, axis=-1) / np.linalg.norm(want, axis=-1)
            report.add(f"1 - cosine with transformers, {kind} sentences", np.abs(1 - cosine).max(), "error", COSINE)
            report.add(f"difference from transformers, {kind} sentences", np.abs(got - want).max(), "error", VALUE)
    finally:
        for worker in workers.values():
            worker.close()


def processes(report: Report, directory: pathlib.Path) -> None:
    """What a fresh process pays."""
    print("\nFresh processes, the best of several")
    rounds = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            rounds.append([fresh("demo", str(directory), cache=cache) for _ in range(4)])
    importing = min(fresh("importing", cache="")["import"] for _ in range(5))
    cold = min((first for first, *_ in rounds), key=lambda r: r["all"])
    warm = min((r for _, *others in rounds for r in others), key=lambda r: r["all"])
    report.add("import beyond NumPy", importing, "ms", 0.1)
    report.add("model, nothing compiled: weights and first vectors", cold["all"], "ms", 3)
    report.add("  of which the first call", cold["first call"], "ms")
    report.add("  of the processor", cold["processor"], "ms")
    report.add("  kernels compiled", cold["compiled"], "count")
    report.add("model, kernels on disk: weights and first vectors", warm["all"], "ms", 0.3)
    report.add("  of which weights", warm["load"], "ms")
    report.add("  of which the first call", warm["first call"], "ms")
    report.add("  of the processor", warm["processor"], "ms")
    report.add("  kernels compiled", warm["compiled"], "count", 0)


def small(report: Report) -> None:
    """Calls that compute next to nothing, and kernels compiled one by one."""
    with tempfile.TemporaryDirectory() as cache:
        print("\nCalls of small functions")
        for name, seconds in fresh("overhead", cache=cache).items():
            report.add(name, seconds, "us", 20e-6)
    print("\nCompiling one kernel, one thread, the best of three")
    rounds = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            rounds.append(fresh("compiling", cache=cache))
    found = {name: min(r[name] for r in rounds) for name in rounds[0]}
    for name, seconds in found.items():
        report.add(name, seconds, "ms")
    report.add("median", float(np.median(list(found.values()))), "ms", 0.06)


def any_size(report: Report, directory: pathlib.Path) -> None:
    """Twenty calls of the model with random sizes."""
    print("\n20 random batches (1-32) and lengths (1-256)")
    with tempfile.TemporaryDirectory() as cache:
        calls = fresh("sizes", str(directory), cache=cache)["calls"]
    report.add("traces after the second call", sum(c["traces"] for c in calls[2:]), "count", 0)
    report.add("graphs compiled after the second call", sum(c["graphs_compiled"] for c in calls[2:]), "count", 0)
    report.add("size classes of the whole model", sum(c["size_classes"] for c in calls), "count", 4)
    report.add("kernels compiled in the first call", calls[0]["kernels_compiled"], "count")
    report.add("kernels compiled in all other calls", sum(c["kernels_compiled"] for c in calls[1:]), "count")


def run(rounds: int, threads: int, markdown: str | None) -> int:
    from model import model_directory

    directory = model_directory()
    about = f"{datetime.date.today()}, {machine(threads)}, float32"
    print(about)
    report = Report()
    compare(report, directory, rounds, threads)
    processes(report, directory)
    small(report)
    any_size(report, directory)
    return report.finish(about, markdown)
