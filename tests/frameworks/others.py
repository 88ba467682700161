"""Functions of another library, called with the arguments of the table's cases, floats as float64."""

import numpy as np
import pytest

import pypto as pto
from cases import Case, check
from pypto._functions import signature_of

DTYPES = {"f": "float32", "i": "int64", "b": "bool"}


def wide(array):
    return array.astype(np.float64) if array.dtype.kind == "f" else np.array(array)


class Library:
    """Finds a function by its name in `spaces`; `special` ones take the arguments by the table's names.

    What gives None has no counterpart for these arguments; the functions in `without` have none at all.
    """

    def __init__(self, spaces, convert, special, without, rename):
        self.spaces, self.convert, self.special, self.without, self.rename = spaces, convert, special, without, rename

    def table(self):
        """(function, dtype) for all that the other library has."""
        functions = [f for f in pto.function_table() if f["name"] not in self.without]
        every = [(f, DTYPES[k]) for f in functions for k in f["test"]["dtypes"] if k in DTYPES]
        return [pytest.param(f, d, id=f"{f['name']}-{d}") for f, d in every if (f["name"], d) not in self.without]

    def call(self, case):
        given = {k: self.converted(v) for k, v in case.by_name.items()}
        name = case.function["name"]
        if name in self.special:
            return self.special[name](**given)
        positional, named = [], {}
        for key, parameter in signature_of(case.function["signature"]).parameters.items():
            if parameter.kind == parameter.VAR_POSITIONAL:
                positional += given[key]
            elif parameter.default is parameter.empty:
                positional.append(given[key])
            elif not self.is_default(case.by_name[key], parameter.default):
                named[self.rename.get(key, key)] = given[key]
        return next(getattr(s, name) for s in self.spaces if hasattr(s, name))(*positional, **named)

    def converted(self, value):
        if isinstance(value, list):
            return [self.converted(v) for v in value]
        return self.convert(wide(value)) if isinstance(value, np.ndarray) else value

    @staticmethod
    def is_default(value, default):
        default = default.name if isinstance(default, pto.DType) else default
        return not isinstance(value, (np.ndarray, list)) and type(value) is type(default) and value == default

    def compare(self, function, dtype):
        """How many cases were compared."""
        compared = 0
        for text in function["cases"]:
            case = Case(function, dtype, text)
            want = self.call(case)
            if want is None:
                continue
            compared += 1
            got = case.call()
            several = isinstance(got, (tuple, list))
            got, want = (list(got), list(want)) if several else ([got], [want])
            assert len(got) == len(want)
            for g, w in zip(got, want):
                check(g, np.asarray(w), function["test"], dtype, f"{function['name']}({text}) of {dtype}")
        return compared


RANDOM = dict.fromkeys(
    ["random_bits", "uniform", "normal", "randint", "bernoulli", "dropout", "categorical"], "another generator of random numbers"
)
