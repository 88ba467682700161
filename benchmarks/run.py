"""PyPTO's benchmarks: prints figures, and fails where one misses its bound.

run.py [demo] [--rounds N] [--threads N] [--markdown FILE]
"""

import argparse
import os
import sys

DEMO = "the sentence encoder against PyTorch, and what compiling and calling cost"


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="?", default="demo", choices=["demo"], help=DEMO)
    parser.add_argument("--rounds", type=int, default=10, help="rounds of the comparison (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads for both sides (%(default)s)")
    parser.add_argument("--markdown", help="write the figures to this file as well")
    args = parser.parse_args()
    if args.rounds < 1 or args.threads < 1:
        parser.error("rounds and threads are at least 1")
    for name in ("OMP", "MKL", "OPENBLAS", "PTO"):  # before any library reads them
        os.environ[f"{name}_NUM_THREADS"] = str(args.threads)
    import figures

    sys.exit(figures.run(args.rounds, args.threads, args.markdown))


if __name__ == "__main__":
    main()
