"""The figures of training: a GPT's step against PyTorch and JAX, its memory, and derived backward passes."""

import datetime
import json
import pathlib
import subprocess
import sys
import time

import numpy as np
from gpts import Sizes, jax_step, pypto_step, torch_compiled_step, torch_step, windows
from report import Report, machine
from workers import Worker

HERE = pathlib.Path(__file__).parent
MAKERS = {"PyPTO": pypto_step, "PyTorch": torch_step, "torch.compile": torch_compiled_step, "JAX": jax_step}
STREAM = 1 << 25  # numbers, 128 MB: well beyond any cache


def steps(report: Report, rounds: int, threads: int) -> None:
    """All in turns, one step each a round; the first rounds, in which things are compiled, are not counted."""
    sizes, warm = Sizes(), 3
    print(
        f"\nGPT of {sizes.layers} layers, width {sizes.width}, {sizes.heads} heads, sequence {sizes.length}, batch {sizes.batch}, "
        f"AdamW, float32, {threads} threads; the best of {rounds} rounds in turns"
    )
    workers = {name: Worker(make, sizes, threads) for name, make in MAKERS.items()}
    times: dict[str, list[float]] = {name: [] for name in workers}
    losses: dict[str, list[float]] = {name: [] for name in workers}
    try:
        for round_, batch in enumerate(windows(sizes, rounds + warm)):
            for name, worker in workers.items():
                seconds, loss = worker(batch)
                losses[name].append(loss)
                if round_ >= warm:
                    times[name].append(seconds)
    finally:
        for worker in workers.values():
            worker.close()
    best = {name: min(all_) for name, all_ in times.items()}
    for name, seconds in best.items():
        report.add(f"a step, {name}, best", seconds, "ms")
    for name in list(workers)[1:]:
        report.add(f"{name} / PyPTO, best of each", best[name] / best["PyPTO"], "")
    fastest = [min(others) for others in zip(*(times[name] for name in list(workers)[1:]))]
    ratios = [other / own for own, other in zip(times["PyPTO"], fastest)]
    report.add("fastest of the others / PyPTO, median of the rounds", float(np.median(ratios)), "", at_least=1)
    for name in list(workers)[1:]:
        apart = np.abs(np.subtract(losses[name], losses["PyPTO"])).max()
        report.add(f"largest difference of {len(losses[name])} losses, {name}", apart, "error", at_most=1e-3)


def fresh(*arguments: str, threads: int) -> dict:
    """The answer of memory.py in a process of its own."""
    done = subprocess.run([sys.executable, str(HERE / "memory.py"), *arguments, str(threads)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench: memory.py {' '.join(arguments)} failed\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def memory(report: Report, threads: int) -> None:
    """High-water marks of fresh processes, each after ten steps."""
    print("\nMemory of that step: the system's high-water mark of fresh processes")
    found = {name: fresh(name, threads=threads) for name in MAKERS}
    for name, facts in found.items():
        report.add(f"peak, {name}", facts["peak"], "MB")
    report.add("PyPTO / PyTorch", found["PyPTO"]["peak"] / found["PyTorch"]["peak"], "", at_most=1)
    own = found["PyPTO"]
    report.add("PyPTO, above what is there before the model", own["peak"] - own["base"], "MB")
    report.add("PyPTO, by the plan of the step", own["plan"], "MB")
    apart = abs(own["plan"] / (own["peak"] - own["base"]) - 1)
    report.add("the plan and the measured, apart by (share)", apart, "", at_most=0.05)


def derived(report: Report, rounds: int, threads: int) -> None:
    """Derived and by hand in turns, in one process; the streaming rate beside them."""
    from backward import cases

    import pypto as pto

    pto.set_num_threads(threads)
    print(f"\nForward and backward, derived and fused against by hand, operator by operator; the best of {rounds} rounds in turns")
    stream = pto.jit(lambda x: x + 1)
    source = pto.zeros(STREAM, dtype="float32")
    report.add("streaming, x + 1", 2 * source.nbytes / _best([lambda: stream(source)], rounds)[0], "GB/s")
    for case in cases():
        inputs = [pto.asarray(x) for x in case.inputs]
        y = case.function(*inputs)
        g = pto.asarray(np.random.default_rng(1).standard_normal(tuple(y.shape)).astype(np.float32))
        ways = [case.derived(), case.by_hand]
        results = [[t.numpy() for t in way(g, *inputs)] for way in ways]
        for own, other in zip(*results, strict=True):
            error = np.abs(own - other).max() / max(1.0, float(np.abs(other).max()))
            if error > 1e-4:
                raise SystemExit(f"bench: {case.name}: the two ways differ by {error:.1e}")
        moved = sum(x.nbytes for x in case.inputs) + g.nbytes + sum(r.nbytes for r in results[0])
        own, other = _best([lambda way=way: way(g, *inputs) for way in ways], rounds)
        report.add(f"{case.name}, derived", own, "ms")
        report.add(f"{case.name}, derived: inputs and results", moved / own, "GB/s")
        report.add(f"{case.name}, by hand", other, "ms")
        report.add(f"{case.name}, by hand / derived", other / own, "", at_least=1.25)


def _best(ways: list, rounds: int) -> list[float]:
    """The shortest time of each, in turns."""
    best = [float("inf")] * len(ways)
    for _ in range(rounds + 1):
        for i, way in enumerate(ways):
            start = time.perf_counter()
            kept = way()
            best[i] = min(best[i], time.perf_counter() - start)
            del kept
    return best


def run(rounds: int, threads: int, markdown: str | None) -> int:
    about = f"{datetime.date.today()}, {machine(threads)}, float32"
    print(about)
    report = Report()
    steps(report, rounds, threads)
    memory(report, threads)
    derived(report, rounds, threads)
    return report.finish(about, markdown)
