"""Every function of the table against NumPy in float64: all its cases, in all types that it takes."""

import numpy as np
import pytest

import pypto as pto
from cases import Case, check, table

IDS = [f"{f['name']}-{d}" for f, d in table()]


def results(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


@pytest.mark.parametrize("function,dtype", table(), ids=IDS)
def test_values(function, dtype):
    for text in function["cases"]:
        case = Case(function, dtype, text)
        got = results(case.call())
        want = case.reference()
        want = results(want) if len(got) > 1 or isinstance(want, (tuple, list)) else [want]
        assert len(got) == len(want)
        for g, w in zip(got, want):
            check(g, w, function["test"], dtype, f"{function['name']}({text}) of {dtype}")


def strided(x):
    """The same elements at negative and doubled strides."""
    if x.ndim == 0 or x.dtype.kind not in "biuf":
        return pto.asarray(x)
    wide = np.repeat(x, 2, axis=-1)[..., ::2]
    return pto.from_numpy(np.ascontiguousarray(wide[::-1])[::-1])


@pytest.mark.parametrize("function", pto.function_table(), ids=lambda f: f["name"])
def test_strides(function):
    dtype = "float32" if "f" in function["test"]["dtypes"] else "int64" if "i" in function["test"]["dtypes"] else "uint64"
    for text in function["cases"]:
        case = Case(function, dtype, text)
        for g, w in zip(results(case.call(strided)), results(case.call())):
            np.testing.assert_array_equal(g.numpy(), w.numpy())


@pytest.mark.parametrize("function", pto.function_table(), ids=lambda f: f["name"])
def test_compiled(function):
    """jit gives what lazy evaluation gives, and its program has no step but launches and copies."""
    dtype = "float32" if "f" in function["test"]["dtypes"] else "int64" if "i" in function["test"]["dtypes"] else "uint64"
    for text in function["cases"]:
        case = Case(function, dtype, text)
        arrays = [pto.asarray(a) for a in case.arrays]

        @pto.jit
        def compiled(*tensors, case=case):
            given = {id(a): t for a, t in zip(case.arrays, tensors)}
            return tuple(results(case.call(lambda x: given[id(x)])))

        got, want = compiled(*arrays), results(case.call())
        for g, w in zip(got, want):
            np.testing.assert_array_equal(g.numpy(), w.numpy())
        kinds = {step[0] for step in compiled.executable.summary()["steps"]}
        assert kinds <= {"launch", "copy"}, kinds
