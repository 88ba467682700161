# ruff: noqa: F821
"""What type checkers must accept, with the types that they must see; it runs, too."""

from typing import Annotated, assert_type

import numpy as np

import pypto as pto

B = "B"


@pto.kernel
def scores(q: pto.Tensor["B", "S", 64, pto.float16], k: pto.Tensor["B", "T", 64, pto.float16]) -> pto.Tensor:
    return pto.softmax(q @ k.mT / 8.0, dim=-1)


@pto.jit(target="sse")
def total(x: Annotated[pto.Tensor, "B", 3, pto.float32], *, n: int = 3) -> tuple[pto.Tensor, int]:
    return pto.sum(x, dim=1, keepdim=True), n


@pto.jit
def best(x: pto.Tensor[B, 3], y: "pto.Tensor['B', 3] | None" = None) -> pto.Tensor:
    values, _ = pto.topk(x, 2, dim=1)
    return values + 1 if y is None else 2**y


@pto.custom_op(name="double")
def double(x: pto.Tensor) -> pto.Tensor:
    return x * 2


@pto.module
class Linear:
    def __init__(self, n: int) -> None:
        self.weight = pto.Parameter((n, n))

    def forward(self, x: pto.Tensor) -> pto.Tensor:
        return pto.einsum("bi,oi->bo", x, self.weight)


class Model(pto.Module):
    def __init__(self) -> None:
        self.linear = Linear(3)

    @pto.jit
    def run(self, x: pto.Tensor) -> pto.Tensor:
        return double(self.linear(x))


half = pto.ones((2, 5, 64), pto.float16)
x = pto.asarray([[1.0, 2.0, 3.0]], dtype="float32")
assert_type(scores(half, half), pto.Tensor)
assert_type(total(x, n=2), tuple[pto.Tensor, int])
assert_type(best(x), pto.Tensor)
assert_type(Model().run(x), pto.Tensor)
assert_type(Linear(3).state_dict(), dict[str, pto.Tensor])
assert_type(x + np.ones(3) - 1, pto.Tensor)
assert_type(2 / x == 1, pto.Tensor)
assert_type(x.max(axis=0, keepdims=True), pto.Tensor)
assert_type(x.shape, tuple[int, ...])
assert_type(pto.concat([x, np.ones((1, 3))], axis=0), pto.Tensor)
assert_type(pto.split(x, 3, dim=1), tuple[pto.Tensor, ...])
assert_type(pto.pad(x, ((1, 0), (0, 1))), pto.Tensor)
assert_type(pto.gather(x, dim=1, index=[[0]]), pto.Tensor)
assert_type(pto.bool, pto.DType)
assert_type(pto.random.normal((3,)), pto.Tensor)
assert_type(scores.show("tile", file=open("/dev/null", "w")), str)
try:
    pto.reshape(x, (2, 2))
except pto.Error as error:
    assert_type(error.op, str | None)
    assert_type(error.operands, tuple[str, ...])
