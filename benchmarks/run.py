"""PyPTO's benchmarks: prints figures, and fails where one misses its bound."""

import argparse
import importlib
import os
import sys

SUITES = {
    "demo": ("figures", "the sentence encoder against PyTorch, and what compiling and calling cost"),
    "train": ("training", "a training step against PyTorch and JAX: time, memory; derived backward passes"),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument(
        "suite", nargs="?", default="demo", choices=SUITES, help="; ".join(f"{n}: {d}" for n, (_, d) in SUITES.items())
    )
    parser.add_argument("--rounds", type=int, default=10, help="rounds of the comparison (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads for all sides (%(default)s)")
    parser.add_argument("--markdown", metavar="FILE", help="write the figures to this file as well")
    args = parser.parse_args()
    if args.rounds < 1 or args.threads < 1:
        parser.error("rounds and threads are at least 1")
    for name in ("OMP", "MKL", "OPENBLAS", "PTO"):  # before any library reads them
        os.environ[f"{name}_NUM_THREADS"] = str(args.threads)
    suite = importlib.import_module(SUITES[args.suite][0])
    sys.exit(suite.run(args.rounds, args.threads, args.markdown))


if __name__ == "__main__":
    main()
