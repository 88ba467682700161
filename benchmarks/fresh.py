"""What happens in a fresh process: each function is run as `fresh.py NAME [ARGUMENT]`, and prints JSON."""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples" / "minilm"))


def importing() -> dict[str, float]:
    """Seconds that importing PyPTO takes after NumPy."""
    import numpy  # noqa: F401

    start = time.perf_counter()
    import pypto  # noqa: F401

    return {"import": time.perf_counter() - start}


def demo(directory: str) -> dict[str, float]:
    """The demo's way to its first vectors, after the imports."""
    import numpy as np

    import model
    import pypto as pto

    ids = np.full((8, 12), 2026)
    mask = np.ones((8, 12), bool)
    start, processor = time.perf_counter(), time.process_time()
    encoder = model.load(pathlib.Path(directory))
    loaded = time.perf_counter()
    encoder(ids, mask).numpy()
    first, processor = time.perf_counter(), time.process_time() - processor
    encoder(ids, mask).numpy()
    again = time.perf_counter()
    counted = pto.counters()
    return {
        "load": loaded - start,
        "first call": first - loaded,
        "all": first - start,
        "processor": processor,
        "second call": again - first,
        "compiled": counted["kernels_compiled"],
        "from disk": counted["disk_hits"],
    }


def sizes(directory: str) -> dict[str, list[dict[str, int]]]:
    """What the counters say after each of 20 calls with random batch and length."""
    import numpy as np

    import model
    import pypto as pto

    encoder = model.load(pathlib.Path(directory))
    rng = np.random.default_rng(0)
    calls = []
    before = pto.counters()
    for _ in range(20):
        batch, length = int(rng.integers(1, 33)), int(rng.integers(1, 257))
        vectors = encoder(rng.integers(999, 30522, (batch, length)), np.ones((batch, length), bool))
        assert vectors.shape == (batch, 384)
        after = pto.counters()
        calls.append({"batch": batch, "length": length} | {name: after[name] - before[name] for name in after})
        before = after
    return {"calls": calls}


def overhead() -> dict[str, float]:
    """Seconds of a call whose work is nothing, the median of many rounds."""
    import numpy as np

    import pypto as pto

    @pto.jit
    def add(x, y):
        return x + y

    @pto.jit
    def typed(x: pto.Tensor["N", pto.float32], y: pto.Tensor["N", pto.float32]):  # noqa: F821
        return pto.tanh(x * y) + 1

    plain = np.ones(16, np.float32)
    tensor = pto.asarray(plain)
    cases = {
        "x + y of 16, tensors": lambda: add(tensor, tensor),
        "x + y of 16, NumPy's arrays": lambda: add(plain, plain),
        "any size N, tensors": lambda: typed(tensor, tensor),
        "x + y of 16, NumPy's arrays, result as well": lambda: add(plain, plain).numpy(),
    }
    found = {}
    for name, call in cases.items():
        rounds = []
        for _ in range(30):
            start = time.perf_counter()
            for _ in range(200):
                call()
            rounds.append((time.perf_counter() - start) / 200)
        found[name] = min(rounds)
    return found


def compiling() -> dict[str, float]:
    """Seconds that single kernels take to compile, one after the other."""
    import numpy as np

    import pypto as pto

    pto.set_num_threads(1)
    X = pto.Tensor["B", "S", pto.float32]
    W = pto.Tensor["S", "O", pto.float32]
    x = np.ones((96, 128), np.float32)
    w = np.ones((128, 160), np.float32)

    def softmax(a: X):
        return pto.softmax(a, axis=-1)

    def layer_norm(a: X):
        return pto.layer_norm(a, a.shape[-1])

    def chain(a: X):
        return pto.tanh(a * 2 + 1) * pto.exp(-a)

    def gelu(a: X):
        return pto.gelu(a)

    def total(a: X):
        return a.sum()

    def transposed(a: X):
        return a.permute(1, 0) + 1

    def running(a: X):
        return pto.cumsum(a, axis=1)

    def product(a: X, b: W):
        return a @ b

    def linear(a: X, b: W):
        return pto.relu(pto.einsum("bs,so->bo", a, b) + 1)

    def largest(a: X):
        return pto.argmax(a, axis=-1)

    found = {}
    for function, given in [
        (softmax, (x,)),
        (layer_norm, (x,)),
        (chain, (x,)),
        (gelu, (x,)),
        (total, (x,)),
        (transposed, (x,)),
        (running, (x,)),
        (largest, (x,)),
        (product, (x, w)),
        (linear, (x, w)),
    ]:
        before = pto.counters()
        pto.jit(function)(*given).numpy()
        after = pto.counters()
        kernels = after["kernels_compiled"] - before["kernels_compiled"]
        spent = after["compile_microseconds"] - before["compile_microseconds"]
        found[function.__name__] = spent / kernels / 1e6
    return found


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
