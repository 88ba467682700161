"""What compiled functions take and give: containers, numbers, static values, methods, in-place writes; and what they refuse."""

import collections
import re

import numpy as np
import pytest

import pypto as pto

Pair = collections.namedtuple("Pair", "a b")


def test_containers_in_and_out():
    @pto.jit
    def fn(state, xs, pair):
        w, b = state["w"], state["b"]["inner"]
        return {"y": w * xs[0] + b, "xs": [x + 1 for x in xs]}, Pair(pair.b, pair.a), None, "text", 3

    for k in (1.0, 2.0):
        out, pair, nothing, text, three = fn(
            {"w": pto.full((2,), k), "b": {"inner": pto.ones(2)}}, [pto.ones(2), pto.zeros(3)], Pair(pto.ones(1), np.zeros(2))
        )
        np.testing.assert_array_equal(out["y"].numpy(), [k + 1] * 2)
        assert [x.numpy().tolist() for x in out["xs"]] == [[2, 2], [1, 1, 1]]
        assert type(pair) is Pair and pair.a.shape == (2,) and pair.b.shape == (1,)
        assert nothing is None and text == "text" and three == 3
    assert len(fn.reasons) == 1
    fn({"w": pto.ones(2), "b": {"inner": pto.ones(2)}}, (pto.ones(2), pto.zeros(3)), Pair(pto.ones(1), np.zeros(2)))
    assert len(fn.reasons) == 2  # a tuple is no list


def test_one_tensor_twice_and_results_that_are_arguments():
    fn = pto.jit(lambda x, y: (x, y, x + y, x))
    x = pto.ones(2)
    a, b, total, c = fn(x, x)
    assert total.numpy().tolist() == [2, 2]
    a += 1.0
    for other in (b, c, x):
        np.testing.assert_array_equal(other.numpy(), [1, 1])
    a, b, total, c = fn(x, pto.zeros(2))
    assert b.numpy().tolist() == [0, 0] and total.numpy().tolist() == [1, 1]


def test_defaults_and_keywords():
    @pto.jit
    def fn(x, /, y=2, *more, z=3.0, **others):
        total = x + y * z
        for m in more:
            total = total + m
        for name, value in sorted(others.items()):
            total = total * value if name.startswith("times") else total - value
        return total

    x = pto.asarray([1.0])
    for _ in range(2):
        assert fn(x).item() == 7
        assert fn(x, 4).item() == 13
        assert fn(x, y=4).item() == 13
        assert fn(x, z=1.0).item() == 3
        assert fn(x, 1, 10, x, z=pto.asarray(2.0)).item() == 14
        assert fn(x, times=2, less=1).item() == 12
    with pytest.raises(TypeError):
        fn()
    assert fn.__name__ == "fn"


def test_arrays_numbers_and_lists_are_taken():
    fn = pto.jit(lambda x, k: x * k)
    for x in (np.array([1.0, 2.0], np.float32), pto.asarray([1.0, 2.0])):
        np.testing.assert_array_equal(fn(x, 2).numpy(), [2, 4])
        np.testing.assert_array_equal(fn(x, np.float32(2)).numpy(), [2, 4])
        np.testing.assert_array_equal(fn(x, True).numpy(), [1, 2])
    assert fn(x, 2).dtype == "float32" and fn(np.array([1]), 2).dtype == "int64" and fn(np.array([1]), 2.5).dtype == "float32"
    total = pto.jit(lambda xs: xs[0] + xs[1])
    assert total([1, 2]) == 3 or total([1, 2]).item() == 3
    assert total([pto.ones(()), 2.5]).item() == 3.5


def test_a_number_and_its_type_are_not_mixed_up():
    fn = pto.jit(lambda x, k: x * k)
    x = pto.asarray([3, 4])
    for k, dtype in [
        (2, "int64"),
        (2.0, "float32"),
        (True, "int64"),
        (3, "int64"),
        (2.5, "float32"),
        (False, "int64"),
        (2, "int64"),
    ]:
        got = fn(x, k)
        assert got.dtype == dtype, (k, got.dtype)
        np.testing.assert_array_equal(got.numpy(), np.array([3, 4]) * k)


@pytest.mark.parametrize("k", [0.0, -0.0, float("nan"), float("inf"), 1e300, 2**62, -(2**63), 2**63 - 1, 1e-320])
def test_numbers_at_the_edges_as_operands(k):
    fn = pto.jit(lambda x, k: x + k)
    x = pto.asarray([-0.0] * 2, dtype="float64") if isinstance(k, float) else pto.asarray([0, 0])
    for value in (type(k)(0), k, type(k)(1), type(k)(2), type(k)(0), k):
        got = fn(x, value).numpy()
        assert got.tobytes() == np.full(2, value, x.dtype.numpy).tobytes() or value != value and np.isnan(got).all()


def test_a_number_that_fixes_the_program():
    @pto.jit
    def power(x, n):
        y = x
        for _ in range(n - 1):
            y = y * x
        return y

    x = pto.asarray([2.0])
    for n in (1, 2, 3, 5, 3, 2):
        assert power(x, n).item() == 2.0**n
    branch = pto.jit(lambda x, flag: x + 1 if flag > 2 else x - 1)
    assert [branch(x, f).item() for f in (1, 3, 2, 5)] == [1, 3, 1, 3]


def test_values_are_not_known_while_a_function_is_traced():
    def branch(x):
        return x if x[0] > 0 else -x

    def loop(x):
        return [v for v in range(x[0])]

    def number(x):
        return x * float(x[0])

    def array(x):
        return np.asarray(x).sum()

    def text(x):
        return x if "1" in f"{x[0]:.1f}" else -x

    def items(x):
        return x.tolist()

    def mask(x):
        return x[x > 0]

    def nonzero(x):
        while pto.any(x > 0):
            x = x - 1
        return x

    for fn, hint in [(branch, "pypto.cond"), (number, "traced"), (array, "traced"), (text, "traced"), (items, "traced")]:
        with pytest.raises(pto.Error, match=hint) as caught:
            pto.jit(fn)(pto.ones(2))
        e = caught.value
        assert e.file == __file__ and e.line == fn.__code__.co_firstlineno + 1, (fn, e.line)
        assert "got: " in str(e)
    with pytest.raises(pto.Error, match="pypto.while_loop"):
        pto.jit(nonzero)(pto.ones(2))
    with pytest.raises(pto.Error, match=re.escape("pypto.where(mask, x, 0)")):
        pto.jit(mask)(pto.ones(2))
    with pytest.raises((pto.Error, TypeError)):
        pto.jit(loop)(pto.ones(2, dtype="int64"))


def test_a_traced_tensor_that_escaped():
    kept = []

    @pto.jit
    def fn(x):
        kept.append(x * 2)
        return x

    fn(pto.ones(2))
    with pytest.raises(pto.Error, match="trace"):
        kept[0].numpy()
    with pytest.raises(pto.Error, match="trace"):
        kept[0] + pto.ones(2)
    assert "traced f32[2]" in repr(kept[0])


def test_an_error_in_the_function_leaves_it_usable():
    @pto.jit
    def fn(x, bad):
        if bad:
            raise KeyError("mine")
        return x + 1

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            fn(pto.ones(2), True)
        assert fn(pto.ones(2), False)[0].item() == 2
    assert len(fn.reasons) == 1
    assert (pto.ones(2) + 1)[0].item() == 2


def test_failed_calls_do_not_make_sizes_vary():
    fn = pto.jit(lambda x: x + pto.ones(3))
    fn(pto.ones(3))
    for n in (4, 5, 6):
        with pytest.raises(pto.Error, match="do not broadcast"):
            fn(pto.ones(n))
    fn(pto.ones(3))
    assert len(fn.reasons) == 1


def test_functions_within_functions():
    inner = pto.jit(lambda x: x * 2)
    outer = pto.jit(lambda x: inner(inner(x)) + pto.kernel(lambda y: y + 1)(x))
    np.testing.assert_array_equal(outer(pto.asarray([1.0, 2.0])).numpy(), [6, 11])
    assert not inner.reasons  # it became part of the outer program


def test_methods_modules_partials_and_lambdas():
    import functools

    class Scale:
        def __init__(self, k):
            self.k = k

        @pto.jit
        def method(self, x):
            return x * self.k

        def plain(self, x):
            return x * self.k

        def __call__(self, x):
            return x * self.k

    two, three = Scale(2.0), Scale(3.0)
    x = pto.asarray([1.0])
    for _ in range(2):
        assert two.method(x).item() == 2 and three.method(x).item() == 3
    two.k = 5.0
    assert two.method(x).item() == 5 and three.method(x).item() == 3
    assert pto.jit(two.plain)(x).item() == 5
    assert pto.jit(two)(x).item() == 5
    assert pto.jit(functools.partial(Scale.plain, three))(x).item() == 3
    assert pto.jit(functools.partial(lambda x, y, k: x * y + k, k=2.0))(x, x).item() == 3

    @pto.module
    class Layer:
        def __init__(self):
            self.w = pto.Parameter(pto.full((1,), 2.0))

        def forward(self, x):
            return x * self.w

    layer = Layer()
    fn = pto.jit(layer)
    assert fn(x).item() == 2
    layer.load_state_dict({"w": [4.0]})
    assert fn(x).item() == 4


def test_writes_to_arguments_and_state_are_seen_outside():
    total = pto.zeros(2)
    steps = [pto.zeros(())]

    @pto.jit
    def step(x, state):
        nonlocal total
        x[0] = 10.0
        x += 1.0
        state["m"] *= 0.5
        total += x
        steps[0] += 1.0
        return pto.sum(x)

    x, state = pto.asarray([1.0, 2.0]), {"m": pto.ones(2)}
    other = x.copy()
    for i in range(1, 4):
        assert step(x, state).item() == 11 + 2 + i
        np.testing.assert_array_equal(x.numpy(), [11, 2 + i])
        np.testing.assert_array_equal(state["m"].numpy(), [0.5**i] * 2)
        assert steps[0].item() == i
    np.testing.assert_array_equal(total.numpy(), [33, 3 + 4 + 5])
    np.testing.assert_array_equal(other.numpy(), [1, 2])
    assert len(step.reasons) == 1


def test_two_arguments_that_are_one_handle_and_are_written():
    @pto.jit
    def fn(x, y):
        x += 1.0
        return x + y

    a, b = pto.ones(2), pto.ones(2)
    assert fn(a, b).numpy().tolist() == [3, 3] and a.numpy().tolist() == [2, 2] and b.numpy().tolist() == [1, 1]
    a = pto.ones(2)
    lazily = a + 1.0
    got = fn(a, a)
    assert a.numpy().tolist() == lazily.numpy().tolist()
    assert got.numpy().tolist() == [4, 4]  # as the same function does lazily


def test_annotations():
    @pto.kernel
    def fn(x: pto.Tensor["B", 3, pto.float32], y: pto.Tensor["B"], k=1):  # noqa: F821
        return x * y[:, None] * k

    for n in (1, 2, 5, 0):
        assert fn(pto.ones((n, 3)), pto.full((n,), 2.0)).shape == (n, 3)
    assert len(fn.reasons) <= 2
    for arguments, message in [
        ((pto.ones((2, 4)), pto.ones(2)), r"x.*expected.*B, 3.*f32\[2, 4\]"),
        ((pto.ones((2, 3), dtype="float64"), pto.ones(2)), r"x.*f64\[2, 3\]"),
        ((pto.ones((2, 3)), pto.ones(3)), r"B"),
        ((pto.ones(3), pto.ones(3)), r"x.*f32\[3\]"),
    ]:
        with pytest.raises(pto.Error, match=f"(?s)fn.*{message}") as caught:
            fn(*arguments)
        assert caught.value.file == __file__


def test_what_is_no_function_is_refused():
    for make in (pto.jit, pto.kernel, pto.custom_op):
        with pytest.raises(pto.Error, match="not a function.*"):
            make(3)
    assert pto.jit()(lambda x: x + 1)(pto.ones(1)).item() == 2


def test_results_of_no_tensors_and_functions_of_none():
    assert pto.jit(lambda x: None)(pto.ones(2)) is None
    assert pto.jit(lambda x: 3)(pto.ones(2)) == 3
    assert pto.jit(lambda: pto.arange(3))().numpy().tolist() == [0, 1, 2]
    assert pto.jit(lambda x: (np.ones(2), x))(pto.ones(1))[0].numpy().tolist() == [1, 1]
    size = pto.jit(lambda x: x.shape[0])
    assert [int(size(pto.ones(n))) for n in (2, 3, 4, 2)] == [2, 3, 4, 2]


def test_code_before_and_after_calls():
    fn = pto.jit(lambda x, y: pto.softmax(x @ y, axis=-1))
    assert "float" in fn.get_code(backend="cpu")
    fn(pto.ones((2, 3), dtype="float64"), pto.ones((3, 4), dtype="float64"))
    assert "double" in fn.get_code(backend="cpu")


@pytest.mark.parametrize(
    "ours, numpys",
    [
        (lambda x, p: pto.roll(x, p, axis=1), lambda x, p: np.roll(x, p, axis=1)),
        (lambda x, p: pto.roll(x, -p), lambda x, p: np.roll(x, -p)),
        (lambda x, p: pto.repeat(x, p, axis=1), lambda x, p: np.repeat(x, p, axis=1)),
        (lambda x, p: pto.tile(x, (p, 2)), lambda x, p: np.tile(x, (p, 2))),
        (lambda x, p: pto.pad(x, ((p, 0), (1, p))), lambda x, p: np.pad(x, ((p, 0), (1, p)))),
        (lambda x, p: pto.pad(x, p, mode="wrap"), lambda x, p: np.pad(x, p, mode="wrap")),
        (lambda x, p: pto.tril(x, p), lambda x, p: np.tril(x, p)),
        (lambda x, p: pto.triu(x, -p), lambda x, p: np.triu(x, -p)),
        (lambda x, p: pto.eye(4, 6, p), lambda x, p: np.eye(4, 6, p)),
        (lambda x, p: pto.split(x, (1, 1 + p), axis=1)[1], lambda x, p: np.split(x, (1, 1 + p), axis=1)[1]),
    ],
)
def test_counts_and_positions_vary_without_a_trace(ours, numpys):
    fn = pto.jit(ours)
    x = np.arange(24).reshape(4, 6)
    for p in (0, 1, 2, 5, 3):
        np.testing.assert_array_equal(fn(x, p).numpy(), numpys(x, p))
    assert len(fn.reasons) == 2
    with pytest.raises(pto.Error, match="negative"):
        pto.repeat(x, -1)


def test_a_cache_is_written_at_any_position():
    @pto.jit
    def write(cache, row, at):
        cache[:, at : at + row.shape[1]] = row
        cache[0, at] = -1.0
        return cache

    want = np.zeros((2, 8, 3), np.float32)
    cache = pto.zeros((2, 8, 3))
    for at in (0, 1, 2, 7, 3):
        cache = write(cache, np.full((2, 1, 3), at + 1.0, np.float32), at)
        want[1, at] = at + 1
        want[0, at] = -1
        np.testing.assert_array_equal(cache.numpy(), want)
    assert len(write.reasons) == 2
