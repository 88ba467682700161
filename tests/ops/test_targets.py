"""Code for narrower machines: the same values, and no wider register; and the same bits on any number of threads."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pypto as pto
from cases import Case, main_dtype, results
from pypto import _core

ROOT = Path(__file__).parents[2]
LEVELS = ["sse", "avx2", "avx512"]

# What an instruction set lacks: wider registers, the upper sixteen, mask registers, VEX encodings.
MASKS_AND_UPPER = r"%k[0-7]\b|%[xy]mm(?:1[6-9]|2\d|3[01])\b"
FORBIDDEN = {
    "avx2": re.compile(rf"%zmm\d|{MASKS_AND_UPPER}"),
    "sse": re.compile(rf"%[yz]mm\d|{MASKS_AND_UPPER}|^\s+v[a-z0-9]+\s.*%xmm", re.MULTILINE),
}


def runs(target):
    """Whether this machine runs the target's code."""
    host = _core.host_target().partition(".")[2]
    return host in LEVELS and LEVELS.index(target) <= LEVELS.index(host)


def compiled(case, target=""):
    """The case as a jitted function, with its arguments."""
    arrays = [pto.asarray(a) for a in case.arrays]

    @pto.jit(target=target)
    def run(*tensors):
        given = {id(a): t for a, t in zip(case.arrays, tensors)}
        return tuple(results(case.call(lambda x: given[id(x)])))

    return run, arrays


@pytest.mark.parametrize("target", ["avx2", "sse"])
def test_values(target):
    """All functions in all types, in a process that is restricted to the target."""
    if not runs(target):
        pytest.skip(f"this machine has no {target}")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-k", "test_values or test_compiled", "tests/ops/test_functions.py"]
    env = {**os.environ, "PTO_TARGET": target}
    seen = subprocess.run([sys.executable, "-c", "import pypto; print(pypto._core.host_target())"], env=env, capture_output=True)
    assert seen.stdout.decode().strip() == f"x86.{target}"
    result = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", result.stdout)[1]) > 1000


@pytest.mark.parametrize("target", ["avx2", "sse"])
@pytest.mark.parametrize("function", pto.function_table(), ids=lambda f: f["name"])
def test_registers(function, target):
    """The last case, usually the largest, as assembly."""
    if not runs(target):
        pytest.skip(f"this machine has no {target}")
    for dtype in {main_dtype(function), "float16" if "f" in function["test"]["dtypes"] else main_dtype(function)}:
        run, arrays = compiled(Case(function, dtype, function["cases"][-1]), target)
        run(*arrays)
        found = FORBIDDEN[target].search(run.executable.text("asm", {}))
        assert not found, f"{function['name']} of {dtype} for {target} uses {found[0]!r}"


def test_wider_registers_are_seen():
    """The search finds what it looks for where the code may use it."""
    if not runs("avx512"):
        pytest.skip("this machine has no avx512")
    rng = np.random.default_rng(1)
    x = pto.asarray(rng.normal(size=(64, 256)).astype(np.float32))
    text = {}
    for target in LEVELS:
        run = pto.jit(lambda x: pto.softmax(x @ x.T, axis=-1), target=target)
        run(x)
        text[target] = run.executable.text("asm", {})
    assert "%zmm" in text["avx512"] and FORBIDDEN["avx2"].search(text["avx512"])
    assert "%ymm" in text["avx2"] and FORBIDDEN["sse"].search(text["avx2"])
    assert "%xmm" in text["sse"]


def test_targets_that_cannot_be():
    for name in ("avx9", "neon" if runs("sse") else "avx2"):
        env = {**os.environ, "PTO_TARGET": name}
        program = "import pypto as pto; (pto.ones((3,)) + 1).numpy()"
        result = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
        assert result.returncode == 1
        assert "Error" in result.stderr and name in result.stderr
    with pytest.raises(pto.Error, match="avx9"):
        pto.jit(lambda x: x + 1, target="avx9")(pto.ones((3,)))


# --- threads ------------------------------------------------------------------------------------------


@pytest.fixture
def threads():
    before = pto.num_threads()
    yield pto.set_num_threads
    pto.set_num_threads(before)


LARGE = {
    "map": lambda x, w: pto.gelu(x) * 0.5 + x.exp(),
    "sum": lambda x, w: x.sum(),
    "sum_rows": lambda x, w: x.sum(axis=1),
    "sum_columns": lambda x, w: x.sum(axis=0),
    "norm": lambda x, w: (x - x.mean(axis=-1, keepdims=True)) / pto.sqrt(x.var(axis=-1, keepdims=True) + 1e-5),
    "softmax": lambda x, w: pto.softmax(x, axis=-1),
    "logsumexp": lambda x, w: pto.logsumexp(x),
    "argmax": lambda x, w: pto.argmax(x),
    "contraction": lambda x, w: x @ w,
    "long_contraction": lambda x, w: x.T @ x,
    "vector": lambda x, w: x.reshape(-1) @ x.reshape(-1),
    "attention": lambda x, w: pto.softmax(x @ w @ (x @ w).T, axis=-1) @ x,
    "cumsum": lambda x, w: pto.cumsum(x, axis=0),
    "cumsum_long": lambda x, w: pto.cumsum(x.reshape(-1), axis=0),
    "sort": lambda x, w: pto.sort(x, axis=-1),
    "gather": lambda x, w: pto.take(x, pto.argsort(x[:, 0]), axis=0),
    "halves": lambda x, w: (x.half() @ w.half()).sum(axis=0),
}


@pytest.mark.parametrize("name", LARGE)
def test_threads_give_the_same_bits(name, threads):
    rng = np.random.default_rng(7)
    x = pto.asarray(rng.normal(size=(1031, 389)).astype(np.float32))
    w = pto.asarray(rng.normal(size=(389, 257)).astype(np.float32))
    run = pto.jit(LARGE[name])
    seen = []
    for n in (1, 2, 3, 2):
        threads(n)
        seen.append(np.array(run(x, w).numpy()))
    for other in seen[1:]:
        assert other.tobytes() == seen[0].tobytes()


PROGRAM = """
import hashlib, numpy as np, sys
import pypto as pto
sys.path.insert(0, "tests/ops")
from cases import Case, main_dtype, results
digest = hashlib.sha256()
for f in pto.function_table():
    for text in f["cases"]:
        for r in results(Case(f, main_dtype(f), text).call()):
            digest.update(np.ascontiguousarray(r.numpy()).tobytes())
print(pto.num_threads(), digest.hexdigest())
"""


def test_threads_of_processes_give_the_same_bits():
    lines = []
    for n in (1, 2, 3):
        env = {**os.environ, "PTO_NUM_THREADS": str(n)}
        result = subprocess.run([sys.executable, "-c", PROGRAM], env=env, cwd=ROOT, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        lines.append(result.stdout.split())
    assert [line[0] for line in lines] == ["1", "2", "3"]
    assert len({line[1] for line in lines}) == 1
