"""Processes, threads and signals: forked children compute, threads compile and run at once, Ctrl-C ends a run."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import pypto as pto

X = np.linspace(-1, 1, 300_000, dtype=np.float32).reshape(600, 500)  # large enough for all threads


def softened(x):
    return pto.tanh(x) * 2 + x.sum(axis=1, keepdims=True)


def check(result):
    np.testing.assert_allclose(result.numpy(), np.tanh(X) * 2 + X.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-4)


def forked(work):
    """The error that `work` raised in a forked child; None if there was none."""

    def child(pipe):
        try:
            work()
            pipe.send(None)
        except BaseException as e:
            pipe.send(repr(e))

    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(sending,))
    process.start()
    sending.close()
    try:
        return receiving.recv()
    except EOFError:
        process.join()
        return f"the child ended with {process.exitcode}"
    finally:
        process.join()


def test_forked_child_runs_old_and_new_programs():
    compiled = pto.jit(softened)
    check(compiled(X))  # the pool runs
    pending = pto.asarray(X) * 3 - 1

    def work():
        check(compiled(X))
        np.testing.assert_allclose(pending.numpy(), X * 3 - 1, rtol=1e-6, atol=1e-6)
        new = pto.jit(lambda a: pto.sort(a @ a.mT + 17.25, axis=-1))
        small = X[:40]
        np.testing.assert_allclose(new(small).numpy(), np.sort(small @ small.T + 17.25, axis=-1), rtol=1e-4)

    assert forked(work) is None
    assert forked(work) is None
    assert forked(lambda: forked(work)) is None
    check(compiled(X))
    assert pto.jit(lambda a: a * 5.5)(X[:2]).numpy()[0, 0] == -5.5


def test_children_at_once():
    compiled = pto.jit(softened)
    check(compiled(X))
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        assert pool.map(check_in_child, range(12)) == list(range(12))


def check_in_child(i):
    check(pto.jit(softened)(X))
    assert (pto.asarray([i]) + i).item() == 2 * i
    return i


def test_child_does_not_share_the_parents_memory():
    x = pto.asarray(X).wait()
    y = pto.asarray(np.zeros(3, np.float32))

    def work():
        nonlocal y
        y += 1
        assert y.numpy().tolist() == [1, 1, 1]
        assert x.numpy()[0, 0] == -1

    assert forked(work) is None
    assert y.numpy().tolist() == [0, 0, 0]


# --- threads ----------------------------------------------------------------------------------------


def together(works):
    """Runs all at once, each on a thread, and raises the first error."""
    start, errors = threading.Barrier(len(works)), []

    def run(work):
        try:
            start.wait()
            work()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(w,)) for w in works]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def test_threads_share_a_function():
    compiled = pto.jit(softened)

    def work():
        for _ in range(20):
            check(compiled(X))

    together([work] * 4)


def test_threads_trace_one_function_for_different_types():
    @pto.jit
    def f(x, y):
        return pto.cumsum(x * y, axis=0) + 1

    def work(dtype, n):
        def run():
            x = np.arange(1, n + 1, dtype=dtype) / dtype(8)
            for _ in range(10):
                np.testing.assert_allclose(f(x, x).numpy(), np.cumsum(x * x) + 1, rtol=1e-3)

        return run

    together([work(np.float32, 5), work(np.float64, 5), work(np.float32, 9), work(np.float64, 9)])


def test_threads_compile_different_functions():
    def work(i):
        def run():
            for j in range(8):
                k = 1000.5 + 8 * i + j
                f = pto.jit(lambda x, k=k: x * k + pto.exp(-x))
                x = np.float32([0.5, 1, 2])
                np.testing.assert_allclose(f(x).numpy(), x * np.float32(k) + np.exp(-x), rtol=1e-6)

        return run

    together([work(i) for i in range(4)])


def test_threads_evaluate_one_pending_graph():
    for turn in range(20):
        shared = pto.asarray(X[: turn + 1]) + turn
        parts = [shared * k for k in range(6)]

        def work(k, turn=turn, parts=parts):
            np.testing.assert_allclose(parts[k].numpy(), (X[: turn + 1] + turn) * k, rtol=1e-5, atol=1e-6)

        together([lambda k=k: work(k) for k in range(6)])


def test_foreign_functions_on_threads():
    """Python functions within programs: threads that wait for the interpreter hold nothing that it waits for."""

    def host(x):
        return np.sort(x.numpy())

    @pto.jit
    def f(x):
        return pto.foreign(host, pto.spec(x.shape, pto.float32))(x) + 1

    def work():
        x = np.float32([3, 1, 2])
        for _ in range(50):
            np.testing.assert_array_equal(f(x).numpy(), [2, 3, 4])

    together([work] * 4)


# --- signals ----------------------------------------------------------------------------------------


ENDLESS = """
import os, signal, threading
import numpy as np
import pypto as pto

{program}

# A process that is started in the background may ignore the signal from the start.
signal.signal(signal.SIGINT, signal.default_int_handler)
started = threading.Event()
def interrupt():
    started.wait()
    os.kill(os.getpid(), signal.SIGINT)

for turn in range(2):
    started.clear()
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        endless(started)
        print("it came to an end")
    except KeyboardInterrupt:
        print("interrupted")
x = np.arange(6, dtype=np.float32)
print(pto.jit(lambda a: a * 2 + 1)(x).numpy().tolist(), (pto.asarray(x) - 1).numpy().tolist())
"""

PROGRAMS = {
    "while_loop in jit": """
@pto.jit
def f(n):
    return pto.while_loop(lambda i: i < n, lambda i: i + 1, pto.zeros((), dtype=pto.int64))
assert f(pto.asarray(5)).item() == 5

def endless(started):
    threading.Timer(0.2, started.set).start()
    f(pto.asarray(2**62)).item()
""",
    "scan, lazily": """
def endless(started):
    xs = pto.zeros(2**27, dtype=pto.bool)
    total, ys = pto.scan(lambda c, x: (c + x, c[:0]), pto.zeros(1), xs)
    threading.Timer(0.2, started.set).start()
    total.numpy()
""",
    "many compilations": """
def endless(started):
    threading.Timer(0.2, started.set).start()
    k = 0
    while True:
        k += 1
        pto.jit(lambda x: pto.exp(x * (k + 0.5)) + k)(np.ones(3, np.float32)).wait()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_keyboard_interrupt(name):
    result = subprocess.run(
        [sys.executable, "-c", ENDLESS.format(program=PROGRAMS[name])], capture_output=True, text=True, env=dict(os.environ)
    )
    assert result.returncode == 0, result.stderr
    want = "[1.0, 3.0, 5.0, 7.0, 9.0, 11.0] [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0]"
    assert result.stdout.splitlines() == ["interrupted", "interrupted", want]


def test_interrupted_call_leaves_state_as_it_was():
    class Counter:
        pass

    n = pto.asarray(0)

    @pto.jit
    def count(until):
        nonlocal n
        n += pto.while_loop(lambda i: i < until, lambda i: i + 1, pto.zeros((), dtype=pto.int64))

    count(pto.asarray(3))
    assert n.item() == 3
    handler = signal.signal(signal.SIGUSR1, lambda *_: (_ for _ in ()).throw(InterruptedError("enough")))
    try:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        with pytest.raises(InterruptedError, match="enough"):
            count(pto.asarray(2**62))
    finally:
        signal.signal(signal.SIGUSR1, handler)
    assert n.item() == 3
    count(pto.asarray(4))
    assert n.item() == 7
