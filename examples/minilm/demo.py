"""Sentences by meaning: encodes them, compares them, and tells what the compiler did.

python demo.py "A man is eating." "Somebody has lunch." --svg graph.svg
"""

import argparse
import collections
import re
import sys
import time

import numpy as np

import drawing
import pypto as pto
from model import load, model_directory
from tokenizer import Tokenizer

SENTENCES = [
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "Somebody has lunch.",
    "The girl is carrying a baby.",
    "A woman is playing the violin.",
    "Someone performs music on a string instrument.",
    "A cheetah is running behind its prey.",
    "The compiler turned twelve operators into one kernel.",
]


def table(sentences, vectors):
    """The cosine of every two sentences."""
    width = min(44, max(map(len, sentences), default=0))
    similar = vectors @ vectors.T
    print(f"\n{'':{width + 4}}" + "".join(f"{i + 1:7}" for i in range(len(sentences))))
    for i, (sentence, row) in enumerate(zip(sentences, similar)):
        shown = sentence if len(sentence) <= width else sentence[: width - 3] + "..."
        print(f"{i + 1:2}  {shown:{width}}" + "".join(f"{v:7.2f}" for v in row))


def milliseconds(run, least=3, seconds=1.0):
    """The shortest of several runs."""
    times = []
    while len(times) < least or sum(times) < seconds:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def reasons(because):
    """What was fused and what was not, by reason: how often, and for which operators."""
    groups = collections.defaultdict(collections.Counter)
    for line in because:
        plain = re.sub(r" \[kernel of .*\]$", "", line)
        subject, _, reason = re.sub(r" \([^()]*\([^()]*\)\)", "", plain).partition(": ")
        groups[re.sub(r"(\w+) \w+\[[^]]*\]", r"\1", reason)][subject.split(" ")[0]] += 1
    return sorted(groups.items(), key=lambda g: (not g[0].startswith("fused"), -g[1].total()))


def megabytes(n):
    return f"{n / 1e6:.1f} MB"


def report(encoder, sizes, before, after):
    """The compiler's own account."""
    summary = encoder.executable.summary()
    nodes = [n for n in encoder.graph.nodes if n[0] not in ("input", "constant")]
    launches = [s for s in summary["steps"] if s[0] == "launch"]
    memory = encoder.executable.memory(sizes)
    spent = {name: after[name] - before[name] for name in after}
    print("\nThe compiler")
    print(f"  operators        {len(nodes)}")
    print(f"  kernels          {len(summary['kernels'])}, launched {len(launches)} times")
    print(
        f"  compile time     {spent['compile_microseconds'] / 1e3:.0f} ms: {spent['traces']} trace, "
        f"{spent['kernels_compiled']} kernels compiled, {spent['disk_hits']} from the disk cache"
    )
    print(
        f"  peak memory      {megabytes(memory['arena'] + memory['outputs'])} for intermediate values and results, "
        f"beside {megabytes(memory['inputs'])} of weights and tokens"
    )
    print("  fused, and not, and why")
    for reason, operators in reasons(summary["because"]):
        names = ", ".join(name for name, _ in operators.most_common(4)) + (", ..." if len(operators) > 4 else "")
        print(f"    {operators.total():4} x {reason}  ({names})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sentences", nargs="*", help="what to compare (a built-in set if none)")
    parser.add_argument("--model", help="folder with model.safetensors, config.json and vocab.txt")
    parser.add_argument("--svg", default="minilm.svg", help="where the picture of the compiled graph goes (%(default)s)")
    parser.add_argument("--layers", type=int, help="only the first layers, for a small picture")
    parser.add_argument("--time", metavar="BxS", help="also time random tokens, such as 32x128")
    args = parser.parse_args()
    if args.time and not re.fullmatch(r"[1-9]\d*x[1-9]\d*", args.time):
        parser.error(f"--time wants sentences x tokens, such as 32x128, and got {args.time}")
    try:
        directory = model_directory(args.model)
    except FileNotFoundError as error:
        sys.exit(f"demo: {error}")
    sentences = args.sentences or SENTENCES

    start = time.perf_counter()
    encoder = load(directory, args.layers)
    tokens, mask = Tokenizer(directory / "vocab.txt").batch(sentences)
    loaded = time.perf_counter()
    before = pto.counters()
    vectors = encoder(tokens, mask).numpy()
    first = time.perf_counter()
    after = pto.counters()

    table(sentences, vectors)
    print(f"\nTime ({pto.num_threads()} threads)")
    print(f"  weights, tokens  {(loaded - start) * 1e3:.0f} ms")
    print(f"  first call       {(first - loaded) * 1e3:.0f} ms, with compilation")
    again = milliseconds(lambda: encoder(tokens, mask).numpy())
    print(f"  each call        {again:.1f} ms for {tokens.shape[0]} x {tokens.shape[1]} tokens")
    report(encoder, {"B": tokens.shape[0], "S": tokens.shape[1]}, before, after)
    if args.time:
        batch, length = map(int, args.time.split("x"))
        some = np.random.default_rng(0).integers(999, 30522, (batch, length))
        full = np.ones(some.shape, bool)
        took = milliseconds(lambda: encoder(some, full).numpy())
        print(f"\n{batch} x {length} tokens: {took:.1f} ms, {batch / took * 1e3:.0f} sentences a second")
    try:
        with open(args.svg, "w", encoding="utf-8") as out:
            title = "all-MiniLM-L6-v2" + (f" (--layers {args.layers})" if args.layers else "")
            out.write(drawing.svg(encoder.executable.summary(), title))
    except OSError as error:
        sys.exit(f"demo: the picture was not written: {error}")
    print(f"\nThe compiled graph: {args.svg}")


if __name__ == "__main__":
    main()
