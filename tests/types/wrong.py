# ruff: noqa: F821, B018
"""What type checkers must refuse: each line that says so, and no other."""

import pypto as pto


@pto.jit
def f(x: pto.Tensor["B", 3]) -> pto.Tensor:
    return x


x = pto.ones(3)
f("x")  # refused
f(x, x)  # refused
f.nothing  # refused
pto.softmax(x, axes=1)  # refused
pto.softmax(x, axis=0, dim=0)  # refused
pto.softmax("x")  # refused
pto.sum(x, dim=1.5)  # refused
pto.gather(x, index=x)  # refused
pto.sotfmax(x)  # refused
x.nothing  # refused
x.sum(axis="B")  # refused
x + "x"  # refused
