"""Numbers and containers as arguments of compiled functions: never a trace that was made for others."""

import collections
import dataclasses

import numpy as np
import pytest

import pypto as pto

f32 = np.float32
M = np.array([[1, 2], [3, 4]], f32)


def calls(f, *argument_lists):
    compiled = pto.jit(f)
    return [np.asarray(compiled(*a)).tolist() for a in argument_lists]


@pytest.mark.parametrize("order", [(0, -1, -2, 1), (-1, -2, 0, 1), (1, 0, -2, -1)])
def test_negative_axes(order):
    assert calls(lambda m, a: m.sum(a), *[(M, a) for a in order]) == [M.sum(a).tolist() for a in order]


NEGATIVE = {
    "sign": (lambda x, n: -x if n < 0 else x, lambda x, n: -x if n < 0 else x),
    "where": (lambda x, n: pto.where(x * n < 0, -x, x), lambda x, n: np.where(x * n < 0, -x, x)),
    "item": (lambda x, n: x[n], lambda x, n: x[n]),
    "from": (lambda x, n: x[n:].sum(), lambda x, n: x[n:].sum()),
    "to": (lambda x, n: x[:n].sum(), lambda x, n: x[:n].sum()),
    "abs": (lambda x, n: x * abs(n), lambda x, n: x * abs(n)),
    "max": (lambda x, n: x * max(n, 0), lambda x, n: x * max(n, 0)),
    "mod": (lambda x, n: x * (n % 3), lambda x, n: x * (n % 3)),
    "floordiv": (lambda x, n: x * (n // 2), lambda x, n: x * (n // 2)),
    "roll": (lambda x, n: pto.roll(x, n), lambda x, n: np.roll(x, n)),
    "eye": (lambda x, n: pto.eye(4, k=n) + x[0], lambda x, n: np.eye(4, k=n) + x[0]),
    "tril": (lambda x, n: pto.tril(pto.ones((3, 3)), n), lambda x, n: np.tril(np.ones((3, 3)), n)),
    "power": (lambda x, n: x + 2.0**n, lambda x, n: x + 2.0**n),
    "range": (lambda x, n: x * len(range(n)), lambda x, n: x * len(range(n))),
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_negative_numbers(name):
    ours, want = NEGATIVE[name]
    x = np.arange(1, 6, dtype=f32)
    numbers = (1, 2, -1, -3, 3, 0, -2)
    got = calls(ours, *[(x, n) for n in numbers])
    for n, g in zip(numbers, got):
        np.testing.assert_allclose(g, want(x, n), err_msg=str(n))


def test_a_start_far_outside_is_clipped():
    x = np.ones(8, f32)
    ns = (1, 2, -(10**8), 10**9, -(2**63), 2**63 - 1)
    assert calls(lambda x, n: x[n:].sum(), *[(x, n) for n in ns]) == [float(x[n:].sum()) for n in ns]


FIXED = {
    "dict": (lambda n: {3: 1.0, 4: 2.0, 5: 3.0}.get(n, 0.0), (3, 4, 5, 3)),
    "set": (lambda n: float(n in {1, 2}), (1, 3, 2)),
    "text": (lambda n: float(str(n).count("1")), (1, 11, 111)),
    "format": (lambda n: float(f"{n:04d}".count("0")), (1, 11, 111)),
    "shift": (lambda n: float((n << 2) | 1), (1, 2, 3)),
    "divmod": (lambda n: float(divmod(n, 2)[1]), (1, 2, 3)),
    "power": (lambda n: float(2**n), (1, 2, 3)),
    "round": (lambda n: float(round(n * 0.75)), (1, 2, 3)),
}


@pytest.mark.parametrize("name", FIXED)
def test_operations_of_python_see_the_value(name):
    f, numbers = FIXED[name]
    assert calls(lambda x, n: x * f(n), *[(np.ones(1, f32), n) for n in numbers]) == [[f(n)] for n in numbers]
    sizes = [np.ones(n, f32) for n in numbers]
    assert calls(lambda x: x.sum() * 0 + f(x.shape[0]), *[(x,) for x in sizes]) == [f(n) for n in numbers]


def test_zeros_have_signs_and_nan_is_a_number():
    numbers = (0.0, -0.0, 0.0, float("nan"), float("nan"), 2.0)
    x = np.ones(2, f32)
    got = calls(lambda x, n: pto.copysign(x, n) * (1 + n), *[(x, n) for n in numbers])
    np.testing.assert_array_equal(got, [np.copysign(x, n) * (1 + n) for n in numbers])
    one = pto.jit(lambda x, n: x * n)
    one(x, float("nan")), one(x, float("nan"))
    assert len(one.reasons) == 1


def test_powers_of_numbers():
    x = np.ones(1, f32)
    assert calls(lambda x, r: x * r**2 + x * r**0, *[(x, r) for r in (0.5, 3.0, -2.0)]) == [[1.25], [10.0], [5.0]]


def test_integers_beyond_64_bits_are_refused():
    f = pto.jit(lambda x, n: x + n)
    x = pto.tensor([1])
    f(x, 1), f(x, 2)
    with pytest.raises(pto.Error, match="64 bits"):
        f(x, 2**63)
    assert f(x, 5).tolist() == [6]


@dataclasses.dataclass
class Batch:
    x: object
    scale: float


def test_containers_count_by_what_they_hold():
    ones = np.ones(1, f32)
    for make in (
        lambda k: {k},
        lambda k: collections.OrderedDict(a=k),
        lambda k: collections.defaultdict(float, a=k),
        lambda k: Batch(ones, k),
        lambda k: [k],
        lambda k: frozenset([k]),
    ):

        def f(x, c):
            if isinstance(c, Batch):
                return c.x * c.scale
            return x * sum(c.values() if isinstance(c, dict) else c)

        compiled = pto.jit(f)
        assert [compiled(ones, make(k)).item() for k in (1.0, 2.0, 3.0, 4.0)] == [1, 2, 3, 4], make(1.0)


def test_the_same_container_changed_in_place():
    box = collections.OrderedDict(a=1.0)
    f = pto.jit(lambda x, c: x * c["a"])
    x = np.ones(1, f32)
    assert f(x, box).item() == 1
    box["a"] = 5.0
    assert f(x, box).item() == 5


def test_kinds_of_containers_are_kept():
    seen = []
    Point = collections.namedtuple("Point", "a b")

    class Names(list):
        pass

    def f(x, c):
        seen.append(c)
        return x

    given = [Point(1.0, (2,)), Names([1]), collections.OrderedDict(k=Batch(None, 2.0)), {1, 2}]
    for c in given:
        pto.jit(f)(np.ones(1, f32), c)
    assert seen == given and [type(s) for s in seen] == [type(c) for c in given]


def test_what_cannot_be_watched_is_refused():
    with pytest.raises(pto.Error, match="changes of c would not be noticed"):
        pto.jit(lambda x, c: x * c[0])(np.ones(1, f32), collections.deque([1.0]))


def test_objects_that_die_do_not_leave_their_traces():
    class Scale:
        __hash__ = None

        def __init__(self, k):
            self.k = k

    f = pto.jit(lambda x, s: x * s.k)
    assert [f(np.ones(1, f32), Scale(k)).item() for k in (1.0, 2.0, 3.0, 4.0, 5.0)] == [1, 2, 3, 4, 5]


def test_programs_with_the_same_words_are_told_apart():
    """Outputs and operands of different numbers, made at one place."""

    def run(three):
        x, y, z = pto.full((2,), 1.0), pto.full((2,), 2.0) * 1, pto.full((2,), 3.0) * 1
        c = pto.concat([x, y, z] if three else [x, y])
        wanted = [c] if three else [z, c]
        pto.materialise(*wanted)
        return [w.numpy().tolist() for w in wanted]

    for three in (True, False, True, False):
        assert run(three) == ([[1, 1, 2, 2, 3, 3]] if three else [[3, 3], [1, 1, 2, 2]])


def test_keys_have_types_and_keywords_an_order():
    x = np.ones(1, f32)
    f = pto.jit(lambda x, d: x * (2 if type(next(iter(d))) is bool else 3))
    assert f(x, {1: x}).item() == 3 and f(x, {True: x}).item() == 2
    g = pto.jit(lambda x, **k: x * next(iter(k.values())))
    assert g(x, a=1.0, b=2.0).item() == 1 and g(x, b=2.0, a=1.0).item() == 2


def test_the_first_rank_that_was_tried_tells_what_is_wrong():
    f = pto.kernel(lambda x: x if x.shape[0] > 3 else -x)
    with pytest.raises(pto.Error, match="cannot be compared"):
        f.get_code()
