"""Tracing beside other tools that look at a program while it runs."""

import cProfile
import sys

import numpy as np

import pypto as pto


def test_a_profiler_goes_on_after_a_trace():
    def shifted(x):
        return x + 1

    def after():
        return None

    profiler = cProfile.Profile()
    profiler.enable()
    result = pto.jit(shifted)(np.ones(3, np.float32))
    after()
    profiler.disable()
    np.testing.assert_array_equal(result.numpy(), [2, 2, 2])
    assert any("after" in str(entry.code) for entry in profiler.getstats())


def test_a_profile_function_goes_on_after_a_trace():
    seen = []

    def watch(frame, event, arg):
        seen.append(frame.f_code.co_name)

    def after():
        return None

    sys.setprofile(watch)
    try:
        pto.jit(lambda x: x + 1)(np.ones(3, np.float32))
        after()
    finally:
        sys.setprofile(None)
    assert "after" in seen
