"""Every function of the table against NumPy in float64: all its cases, in all types that it takes."""

import numpy as np
import pytest

import pypto as pto
import shapes
from cases import Case, check, main_dtype, results, table

IDS = [f"{f['name']}-{d}" for f, d in table()]


def jitted(case):
    """The case as a compiled function of its arrays."""

    @pto.jit
    def run(*tensors):
        given = {id(a): t for a, t in zip(case.arrays, tensors)}
        return tuple(results(case.call(lambda x: given[id(x)])))

    return run


@pytest.mark.parametrize("function,dtype", table(), ids=IDS)
def test_values(function, dtype):
    for text in function["cases"]:
        check_case(function, dtype, text)


def check_case(function, dtype, text):
    case = Case(function, dtype, text)
    got = results(case.call())
    want = case.reference()
    want = results(want) if len(got) > 1 or isinstance(want, (tuple, list)) else [want]
    assert len(got) == len(want)
    for g, w in zip(got, want):
        check(g, w, function["test"], dtype, f"{function['name']}({text}) of {dtype}")


VARIED = [(f, d) for f, d in table() if shapes.variants(f, d)]


@pytest.mark.parametrize("function,dtype", VARIED, ids=[f"{f['name']}-{d}" for f, d in VARIED])
def test_shapes(function, dtype):
    """Ranks from 0 to 6; sizes 0, 1, primes and beside the widths of vectors."""
    for text in shapes.variants(function, dtype):
        check_case(function, dtype, text)


def doubled(x):
    """Every other element of the last axis."""
    return np.repeat(x, 2, axis=-1)[..., ::2]


def reversed_(x):
    """All strides negative."""
    return np.flip(np.flip(x).copy())


def within(x):
    """Rows and columns of a larger array."""
    wide = np.pad(x, 1)
    return wide[tuple(slice(1, -1) for _ in x.shape)]


def repeated(x):
    """One element on all axes but the last (on all, if that is the only one): strides are 0."""
    first = x[tuple(slice(0, 1) for _ in x.shape[: max(x.ndim - 1, 1)])]
    return np.broadcast_to(first, x.shape)


LAYOUTS = [doubled, reversed_, np.asfortranarray, within, repeated]


def test_layouts_are_what_they_say():
    x = np.arange(24.0).reshape(2, 3, 4)
    assert doubled(x).strides[-1] == 16
    assert all(s < 0 for s in reversed_(x).strides)
    assert np.asfortranarray(x).strides == (8, 16, 48)
    assert not within(x).flags.contiguous and within(x).strides[-1] == 8
    assert repeated(x).strides == (0, 0, 8) and repeated(x[0, 0]).strides == (0,)
    for layout in LAYOUTS[:-1]:
        np.testing.assert_array_equal(layout(x), x)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("function", pto.function_table(), ids=lambda f: f["name"])
def test_strides(function, layout):
    """Borrowed from strided arrays, tensors give what dense ones of the same elements give, lazily and compiled."""
    for text in function["cases"]:
        case = Case(function, main_dtype(function), text)
        arrays = {id(a): layout(a) if a.ndim else a for a in case.arrays}
        want = results(case.call(lambda x, arrays=arrays: pto.asarray(np.array(arrays[id(x)], order="C"))))
        strided = {i: pto.from_numpy(a) for i, a in arrays.items()}
        got = results(case.call(lambda x, strided=strided: strided[id(x)]))
        compiled = jitted(case)(*(strided[id(a)] for a in case.arrays))
        for g, c, w in zip(got, compiled, want):
            np.testing.assert_array_equal(g.numpy(), w.numpy())
            np.testing.assert_array_equal(c.numpy(), w.numpy())


@pytest.mark.parametrize("function", pto.function_table(), ids=lambda f: f["name"])
def test_compiled(function):
    """jit gives what lazy evaluation gives, and its program has no step but launches and copies."""
    for text in function["cases"]:
        case = Case(function, main_dtype(function), text)
        compiled = jitted(case)
        got, want = compiled(*(pto.asarray(a) for a in case.arrays)), results(case.call())
        for g, w in zip(got, want):
            np.testing.assert_array_equal(g.numpy(), w.numpy())
        kinds = {step[0] for step in compiled.executable.summary()["steps"]}
        assert kinds <= {"launch", "copy"}, kinds
