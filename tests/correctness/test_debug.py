"""PTO_DEBUG: programs verified after every pass; levels compared at every call."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """
import numpy as np
import pypto as pto

calls = 0


def twice(x):
    global calls
    calls += 1
    return x * 2


doubled = pto.foreign(lambda x: twice(x.numpy()), pto.spec((3, 5)))


@pto.jit
def f(x: pto.Tensor["N", 5], w: pto.Tensor[5, 5]):
    y = pto.softmax(x @ w, axis=-1)
    y = pto.cond((y.sum() > 0), lambda a: a + 1, lambda a: a, y)
    y, rows = pto.scan(lambda c, r: (c + r, c * r), y[0], y)
    n, = pto.while_loop(lambda i: i < 3, lambda i: (i + 1,), (pto.asarray(0),))
    return pto.sort(rows, axis=0), pto.layer_norm(rows, 5), y.max(), n, pto.take(w, pto.argmax(rows, axis=1), axis=0)


rng = np.random.default_rng(1)
x, w = rng.normal(size=(3, 5)).astype("float32"), rng.normal(size=(5, 5)).astype("float32")
for r in f(x, w):
    print(r.numpy().tobytes().hex())
print(pto.cumsum(pto.asarray(x).half(), axis=1).numpy().tobytes().hex())
d = pto.jit(lambda x: doubled(x) + 1)
print(d(pto.asarray(x)).numpy().tobytes().hex())
print("calls", calls)
"""


def run(debug, program=PROGRAM):
    env = {**os.environ, "PTO_DEBUG": debug}
    return subprocess.run([sys.executable, "-c", program], env=env, cwd=ROOT, capture_output=True, text=True)


def test_the_same_bits_while_levels_are_compared():
    plain, verified, compared = (run(debug) for debug in ("0", "1", "compare"))
    for r in (plain, verified, compared):
        assert r.returncode == 0, r.stderr
    *values, calls = plain.stdout.splitlines()
    assert verified.stdout == plain.stdout
    assert compared.stdout.splitlines()[:-1] == values
    # The interpreters called the function too.
    assert calls == "calls 1"
    assert int(compared.stdout.splitlines()[-1].split()[1]) > 1


def test_users_errors_are_raised_in_their_types():
    program = "import pypto as pto\npto.jit(lambda x, i: pto.take(x, i, axis=0))(pto.ones((3,)), pto.asarray([1, 7])).numpy()"
    for debug in ("0", "1", "compare"):
        r = run(debug, program)
        assert r.returncode == 1
        assert "out of range" in r.stderr and "InternalError" not in r.stderr


@pytest.mark.parametrize("value", ["2", "yes", "Compare"])
def test_other_values_are_refused(value):
    r = run(value, "import pypto as pto; (pto.ones((3,)) + 1).numpy()")
    assert r.returncode == 1
    assert "PTO_DEBUG" in r.stderr and value in r.stderr and "0, 1, compare" in r.stderr
