"""What a compiled function reads by a loop, an item, an alias or a default is watched like any name."""

import functools
import types

import numpy as np
import pytest

import pypto as pto

x = np.ones(2, np.float32)


class Scale:
    def __init__(self, k):
        self.k = k

    def __call__(self, v):
        return v * self.k


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k


def by_class():
    class Config:
        k = 1.0

    return lambda x: x * Config.k, lambda v: setattr(Config, "k", v)


def by_loop():
    layers = [Scale(1.0), Scale(1.0)]

    def f(x):
        for layer in layers:
            x = x * layer.k
        return x

    return f, lambda v: setattr(layers[1], "k", v)


def by_item():
    layers = [Scale(1.0)]
    return lambda x: x * layers[0].k, lambda v: setattr(layers[0], "k", v)


def by_key():
    layers = {"a": Scale(1.0)}
    return lambda x: x * layers["a"].k, lambda v: setattr(layers["a"], "k", v)


def by_alias():
    outer = types.SimpleNamespace(inner=Scale(1.0))

    def f(x):
        i = outer.inner
        return x * i.k

    return f, lambda v: setattr(outer.inner, "k", v)


def by_getattr():
    s = Scale(1.0)
    return lambda x: x * getattr(s, "k"), lambda v: setattr(s, "k", v)  # noqa: B009


def by_slot():
    s = Slotted(1.0)
    return lambda x: x * s.k, lambda v: setattr(s, "k", v)


def by_tensor_of_an_item():
    layers = [Scale(pto.tensor(1.0))]
    return lambda x: x * layers[0].k, lambda v: setattr(layers[0], "k", pto.tensor(v))


def by_partial():
    s = Scale(1.0)
    return functools.partial(lambda s, x: x * s.k, s), lambda v: setattr(s, "k", v)


def by_method():
    s = Scale(1.0)
    return s.__call__, lambda v: setattr(s, "k", v)


def by_redefined_method():
    class Layer:
        def apply(self, x):
            return x * 1.0

    layer = Layer()
    return lambda x: layer.apply(x), lambda v: setattr(Layer, "apply", lambda self, x: x * v)


def by_method_of_the_instance():
    class Layer:
        def apply(self, x):
            return x * 1.0

    layer = Layer()
    return lambda x: layer.apply(x), lambda v: setattr(layer, "apply", lambda x: x * v)


def by_shadowing_class():
    class A:
        k = 1.0

    class B(A):
        pass

    b = B()
    return lambda x: x * b.k, lambda v: setattr(B, "k", v)


def by_default():
    options = [1.0]

    def f(x, o=options):
        return x * o[0]

    return f, lambda v: options.__setitem__(0, v)


def by_default_replaced():
    def scale(x, k=1.0):
        return x * k

    return lambda x: scale(x), lambda v: setattr(scale, "__defaults__", (v,))


def by_function_in_a_list():
    k = 1.0

    def scale(x):
        return x * k

    functions = [scale]

    def change(v):
        nonlocal k
        k = v

    return lambda x: functions[0](x), change


def by_long_list():
    table = [0.0] * 5000 + [1.0]
    return lambda x: x * table[5000], lambda v: table.__setitem__(5000, v)


def by_deep_nesting():
    nested = {"a": [{"b": [{"c": 1.0}]}]}
    return lambda x: x * nested["a"][0]["b"][0]["c"], lambda v: nested["a"][0]["b"][0].__setitem__("c", v)


def by_set():
    members = {1.0}
    return lambda x: x * sum(members), lambda v: (members.clear(), members.add(v))


@pytest.mark.parametrize("case", [v for k, v in globals().items() if k.startswith("by_")], ids=lambda f: f.__name__)
def test_a_change_is_seen(case):
    f, change = case()
    compiled = pto.jit(f)
    assert compiled(x).tolist() == [1, 1]
    assert compiled(x).tolist() == [1, 1]
    assert len(compiled.reasons) == 1
    change(5.0)
    assert compiled(x).tolist() == [5, 5], compiled.reasons
    assert compiled(x).tolist() == [5, 5]
    assert len(compiled.reasons) == 2 and "changed" in compiled.reasons[1]


def test_what_a_function_writes_does_not_trace_it_anew():
    log = []
    s = Scale(2.0)

    def f(x):
        log.append(x.shape[0])
        s.last = x.shape[0]
        return x * s.k

    compiled = pto.jit(f)
    for _ in range(4):
        assert compiled(x).tolist() == [2, 2]
    assert len(compiled.reasons) <= 2, compiled.reasons


@pto.module
class Network:
    def __init__(self):
        self.layers = [Scale(1.0) for _ in range(3)]
        self.w = pto.Parameter((2,))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x + self.w * 0


def test_attributes_of_modules_in_lists():
    network = Network()
    compiled = pto.jit(network)
    assert compiled(x).tolist() == [1, 1]
    network.layers[2].k = 3.0
    assert compiled(x).tolist() == [3, 3]
    network.layers.append(Scale(2.0))
    assert compiled(x).tolist() == [6, 6]
    Network.forward = lambda self, x: x * 10
    assert compiled(x).tolist() == [10, 10]
