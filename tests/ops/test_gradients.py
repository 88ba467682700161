"""Gradients of every function of the table in float64: against central differences, forward against reverse mode, and
of second order; and at the points where they are chosen."""

import numpy as np
import pytest

import pypto as pto
from cases import Case, results
from pypto import _core

# Their gradients are recurrences, through which no forward mode leads yet.
BACKWARD_ALONE = ("cumprod", "logcumsumexp")
FLOATING = [f for f in pto.function_table() if "f" in f["test"]["dtypes"] and f["cases"]]
STEP = 1e-6
inf, nan = np.inf, np.nan


def gradients(fn, *arrays):
    """The gradients of a function's sum."""
    xs = [_core.unary("variable", pto.asarray(a)) for a in arrays]
    y = fn(*xs)
    found = _core.vjp([y], [pto.ones(y.shape, y.dtype)], xs)
    return [np.zeros(a.shape) if g is None else g.numpy() for g, a in zip(found, arrays)]


class Smooth:
    """A case as a function of its floating arrays, along one direction."""

    def __init__(self, function, text):
        self.case = Case(function, "float64", text)
        rng = np.random.default_rng(7)
        self.arrays = [a for a in self.case.arrays if a.dtype == np.float64]
        for a in self.arrays:
            a += rng.uniform(-1e-3, 1e-3, a.shape)  # no two are equal, so that nothing changes places within a step
        self.directions = [np.asarray(rng.uniform(-1, 1, a.shape)) for a in self.arrays]
        self.rng = rng

    def call(self, given):
        """The floating results for these in place of the floating arrays."""
        chosen = {id(a): t for a, t in zip(self.arrays, given)}
        out = results(self.case.call(lambda a: chosen.get(id(a), a)))
        return [y for y in out if y.dtype == "float64"]

    def at(self, t):
        return [
            y.numpy().astype(np.float64) for y in self.call([np.asarray(a + t * d) for a, d in zip(self.arrays, self.directions)])
        ]

    def cotangents(self, outputs):
        return [pto.asarray(self.rng.uniform(0.5, 1.5, tuple(y.shape)), y.dtype) for y in outputs]


def along(xs, ds):
    return sum((x.numpy() * d).sum() for x, d in zip(xs, ds) if x is not None)


def pulled(smooth):
    """The case's variables, its results, cotangents for them, and the variables' gradients."""
    xs = [_core.unary("variable", pto.asarray(a)) for a in smooth.arrays]
    outputs = smooth.call(xs)
    cotangents = smooth.cotangents(outputs)
    return xs, outputs, cotangents, _core.vjp(outputs, cotangents, xs)


def cases(function):
    for text in function["cases"]:
        smooth = Smooth(function, text)
        if smooth.arrays and smooth.call(smooth.arrays) and function["name"] != "stop_gradient":
            yield text, smooth


@pytest.mark.parametrize("function", FLOATING, ids=[f["name"] for f in FLOATING])
def test_against_differences(function):
    for text, smooth in cases(function):
        xs, outputs, cotangents, found = pulled(smooth)
        weights = [c.numpy() for c in cotangents]
        reverse = along(found, smooth.directions)
        if function["name"] not in BACKWARD_ALONE:
            tangents = _core.jvp(outputs, xs, [pto.asarray(d) for d in smooth.directions])
            np.testing.assert_allclose(along(tangents, weights), reverse, rtol=1e-9, atol=1e-9, err_msg=text)
        high, low = smooth.at(STEP), smooth.at(-STEP)
        difference = sum(((a - b) * w).sum() for a, b, w in zip(high, low, weights)) / (2 * STEP)
        if not np.isnan(difference):  # what is NaN for all values has no slope
            np.testing.assert_allclose(reverse, difference, rtol=1e-5, atol=1e-6, err_msg=text)


@pytest.mark.parametrize("function", FLOATING, ids=[f["name"] for f in FLOATING])
def test_of_second_order(function):
    """The gradient of a gradient along a direction, against differences of the gradient."""
    if function["name"] in BACKWARD_ALONE:
        return
    for text, smooth in cases(function):
        directions = [pto.asarray(d) for d in smooth.directions]
        xs, _, cotangents, first = pulled(smooth)
        present = [i for i, g in enumerate(first) if g is not None]
        second = _core.vjp([first[i] for i in present], [directions[i] for i in present], xs)

        def slope(t, smooth=smooth, cotangents=cotangents):
            moved = [_core.unary("variable", pto.asarray(np.asarray(a + t * d))) for a, d in zip(smooth.arrays, smooth.directions)]
            return along(_core.vjp(smooth.call(moved), cotangents, moved), smooth.directions)

        difference = (slope(STEP) - slope(-STEP)) / (2 * STEP)
        if not np.isnan(difference):
            np.testing.assert_allclose(along(second, smooth.directions), difference, rtol=1e-4, atol=1e-5, err_msg=text)


@pytest.mark.parametrize(
    "fn, x, want",
    [
        (lambda x: x**0, [0.0, 2], [0, 0]),
        (lambda x: x**2, [0.0, -3], [0, -6]),
        (lambda x: x**3, [0.0, -2], [0, 12]),
        (lambda x: x**0.5, [0.0, 4], [inf, 0.25]),
        (lambda b: pto.zeros(2, "float64") ** b, [1.0, 0], [0, 0]),
        (lambda x: pto.where(x > 0, pto.sqrt(x), x), [-1.0, -4, 4], [1, 1, 0.25]),
        (lambda x: pto.where(x < 1, x, pto.sqrt(x)), [0.0], [1]),
        (lambda x: pto.where(x != 0, 1 / x, 0), [0.0, 2], [0, -0.25]),
        (lambda x: pto.where(x > 0, pto.log(x), 0), [0.0, 2], [0, 0.5]),
        (lambda x: pto.where(x < 9, pto.exp(x), 0), [1e4, 0], [0, 1]),
        (lambda x: pto.where(x < 1, pto.asin(x), 0), [1.0, 0], [0, 1]),
        (lambda x: pto.prod(x), [2.0, 0, 3, 4], [0, 24, 0, 0]),
        (lambda x: pto.prod(x), [0.0, 0, 3], [0, 0, 0]),
        (lambda x: pto.cumprod(x), [2.0, 0, 3, 4], [1, 32, 0, 0]),
        (lambda x: pto.clip(x, 0, 1)[:4], [-1.0, 0.5, 2, nan], [0, 1, 0, 0]),
        (lambda x: pto.max(x), [1.0, 3, 3], [0, 0.5, 0.5]),
        (lambda x: pto.maximum(x, 3.0), [1.0, 3, 4], [0, 0.5, 1]),
        (lambda x: pto.abs(x), [-2.0, 0, 2], [-1, 0, 1]),
        (lambda x: pto.take(x, np.array([0, 0])) * np.array([0.2, 0.3]), [0.1], [0.5]),
        (lambda x: pto.softmax(x), [-inf, -inf], [0, 0]),
        (lambda x: pto.atan2(x, x * 0), [0.0], [0]),
        (lambda x: pto.std(x), [2.0, 2], [0, 0]),
        (lambda x: pto.norm(x), [0.0, 0], [0, 0]),
        (lambda x: pto.norm(x, ord=3.0), [0.0, 0], [0, 0]),
        (lambda x: pto.sum(x[::-2]), [1.0, 2, 3, 4], [0, 1, 0, 1]),
    ],
)
def test_special_points(fn, x, want):
    np.testing.assert_allclose(gradients(fn, np.array(x))[0], want, rtol=1e-15)


def test_powers_have_exact_derivatives_of_any_order():
    for power, want in [(2, [0, 2, 0]), (3, [0, 0, 6, 0]), (4, [0, 0, 0, 24, 0])]:
        x = _core.unary("variable", pto.asarray(np.array(0.0)))
        found = [x**power]
        for _ in want:
            found += _core.vjp(found[-1:], [pto.ones((), "float64")], [x])
        assert [y.item() for y in found[1:]] == want


def test_rows_without_a_gradient_say_so():
    x = _core.unary("variable", pto.ones(3))
    y = pto.scan(lambda c, a: (c + a, c), pto.tensor(0.0), x)[0]
    with pytest.raises(pto.Error, match="no gradient of scan_loop"):
        _core.vjp([y], [pto.ones(())], [x])
