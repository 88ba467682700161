"""Compiled functions never use stale values: what they read from outside is watched."""

import types

import numpy as np

import pypto as pto

SCALE = 2.0
NOTHING = None
TABLE = {"a": [1.0, 2.0]}
ARRAY = np.ones(3, np.float32)
WEIGHT = pto.Parameter(pto.ones(3))


def values(t):
    return t.numpy().tolist()


def test_globals():
    global SCALE, NOTHING
    f = pto.jit(lambda x: x * SCALE if NOTHING is None else x + NOTHING)
    x = pto.ones(2)
    assert values(f(x)) == [2, 2]
    SCALE = 3.0
    assert values(f(x)) == [3, 3]
    assert f.reasons[-1] == "global SCALE changed"
    NOTHING = 5.0
    assert values(f(x)) == [6, 6]
    SCALE, NOTHING = 2.0, None
    assert values(f(x)) == [2, 2]
    assert len(f.reasons) == 3  # the first trace fits again


def test_containers():
    f = pto.jit(lambda x: x * TABLE["a"][1])
    assert values(f(pto.ones(1))) == [2]
    TABLE["a"][1] = 7.0
    assert values(f(pto.ones(1))) == [7]
    TABLE["a"] = [0.0, 4.0]
    assert values(f(pto.ones(1))) == [4]
    TABLE["a"] = [1.0, 2.0]


def test_closures():
    scale = 2.0

    def inner(x):
        return x * scale

    f = pto.jit(lambda x: inner(x) + scale)
    assert values(f(pto.ones(1))) == [4]
    scale = 5.0
    assert values(f(pto.ones(1))) == [10]


def test_arrays_are_read_at_each_call():
    f = pto.jit(lambda x: x + ARRAY)
    assert values(f(pto.zeros(3))) == [1, 1, 1]
    ARRAY[1] = 9
    assert values(f(pto.zeros(3))) == [1, 9, 1]
    assert len(f.reasons) == 1
    ARRAY[1] = 1


def test_tensors_are_read_by_handle():
    f = pto.jit(lambda x: x * WEIGHT)
    assert values(f(pto.ones(3))) == [1, 1, 1]
    WEIGHT[:] = pto.asarray([1.0, 2.0, 3.0])
    assert values(f(pto.ones(3))) == [1, 2, 3]
    assert len(f.reasons) == 1
    WEIGHT[:] = pto.ones(3)


@pto.module
class Gate:
    slope = 2.0

    def __init__(self):
        self.bias = 1.0
        self.layers = [3.0]
        self.weight = pto.Parameter(pto.ones(2))

    def forward(self, x):
        y = x * self.weight * self.slope + self.bias
        for factor in self.layers:
            y = y * factor
        return pto.dropout(y, 0.0) if self.training else -y


def test_modules():
    gate = Gate()
    f = pto.jit(gate)
    x = pto.ones(2)
    assert values(f(x)) == [9, 9]
    gate.bias = 2.0
    assert values(f(x)) == [12, 12]
    gate.layers.append(2.0)
    assert values(f(x)) == [24, 24]
    gate.eval()
    assert values(f(x)) == [-24, -24]
    gate.slope = 1.0
    assert values(f(x)) == [-18, -18]
    gate.weight = pto.Parameter(pto.zeros(2))
    assert values(f(x)) == [-12, -12]
    traces = len(f.reasons)
    gate.weight += 1
    assert values(f(x)) == [-18, -18]
    assert len(f.reasons) == traces


def test_class_attributes():
    gate = Gate()
    f = pto.jit(gate)
    assert values(f(pto.ones(2))) == [9, 9]
    Gate.__mro__[1].slope = 3.0
    try:
        assert values(f(pto.ones(2))) == [12, 12]
    finally:
        Gate.__mro__[1].slope = 2.0


def test_attributes_of_python_modules():
    settings = types.ModuleType("settings")
    settings.scale = 2.0
    f = pto.jit(lambda x: x * settings.scale)
    assert values(f(pto.ones(1))) == [2]
    settings.scale = 4.0
    assert values(f(pto.ones(1))) == [4]


def test_redefined_functions():
    scope = {"pto": pto}
    exec("def helper(x):\n    return x + 1\n\n\ndef f(x):\n    return helper(x) * 2", scope)
    f = pto.jit(scope["f"])
    assert values(f(pto.ones(1))) == [4]
    exec("def helper(x):\n    return x + 2", scope)
    assert values(f(pto.ones(1))) == [6]


def test_the_number_of_parts_of_a_named_size_is_a_guard():
    for chunks in (1, 2, 3, 5):

        @pto.jit
        def parts(x: pto.spec(("N",), "float32")):
            return pto.chunk(x, chunks)

        for n in (0, 1, 2, 3, 5, 6, 7, 9, 10, 31):
            x = np.arange(n, dtype=np.float32)
            size = -(-n // chunks)
            want = np.split(x, range(size, n, size) if n else [0] * (chunks - 1))
            got = parts(x)
            assert [t.numpy().tolist() for t in got] == [w.tolist() for w in want]
            assert [t.numpy().tolist() for t in pto.chunk(x, chunks)] == [w.tolist() for w in want]
