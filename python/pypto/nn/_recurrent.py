"""Recurrent layers, with PyTorch's names and layouts of parameters; `pypto.scan` walks the sequence."""

from __future__ import annotations

from typing import Any

from .._control import scan
from .._errors import Error
from .._functions import functions
from .._module import Module
from .._tensor import Tensor
from .._trace_names import caller
from ._layers import uniform_parameter


class _Recurrent(Module):
    _gates = 0

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        bidirectional: bool = False,
        dtype: Any = "float32",
    ) -> None:
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.has_bias, self.batch_first, self.bidirectional = bias, batch_first, bidirectional
        rows = self._gates * hidden_size
        for layer in range(num_layers):
            for suffix in self._suffixes(layer):
                inputs = hidden_size * (1 + bidirectional) if layer else input_size
                setattr(self, "weight_ih" + suffix, uniform_parameter((rows, inputs), hidden_size, dtype))
                setattr(self, "weight_hh" + suffix, uniform_parameter((rows, hidden_size), hidden_size, dtype))
                if bias:
                    setattr(self, "bias_ih" + suffix, uniform_parameter((rows,), hidden_size, dtype))
                    setattr(self, "bias_hh" + suffix, uniform_parameter((rows,), hidden_size, dtype))

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    def _step(self, state: tuple, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> tuple:
        raise NotImplementedError

    def _run(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """`states`: [layers * directions, batch, hidden] each."""
        if x.ndim != 3 or x.shape[2] != self.input_size:
            expected = f"three axes, the last of {self.input_size}"
            raise Error("the sequence does not fit", op=type(self).__name__, expected=expected, got=x._type_text, **caller())
        if self.batch_first:
            x = functions["swapaxes"](x, 0, 1)
        last: list[tuple] = []
        for layer in range(self.num_layers):
            ways = []
            for suffix in self._suffixes(layer):
                bias = getattr(self, "bias_hh" + suffix) if self.has_bias else None
                weight = getattr(self, "weight_hh" + suffix)
                # What the inputs give does not depend on the state: one product for the whole sequence.
                inputs = functions["linear"](
                    x, getattr(self, "weight_ih" + suffix), getattr(self, "bias_ih" + suffix) if self.has_bias else None
                )

                def step(state: tuple, row: Tensor, weight: Tensor = weight, bias: Tensor | None = bias) -> tuple:
                    new = self._step(state, row, weight, bias)
                    return new, new[0]

                begin = tuple(s[len(last)] for s in states)
                end, y = scan(step, begin, inputs, reverse=suffix.endswith("_reverse"))
                last.append(end)
                ways.append(y)
            x = ways[0] if len(ways) == 1 else functions["concat"](ways, -1)
        if self.batch_first:
            x = functions["swapaxes"](x, 0, 1)
        return x, [functions["stack"]([end[i] for end in last]) for i in range(len(states))]

    def _zeros(self, x: Tensor) -> Tensor:
        batch = x.shape[0 if self.batch_first else 1]
        return functions["zeros"]((self.num_layers * (1 + self.bidirectional), batch, self.hidden_size), x.dtype)


class LSTM(_Recurrent):
    """Long short-term memory: with i, f, o = sigmoid and g = tanh of linear maps of input and h,
    c' = f c + i g and h' = o tanh(c'). The gates stand in the order i, f, g, o.

    Takes [length, batch, input] ([batch, length, input] with ``batch_first``) and optionally (h, c), zeros else,
    each [layers * directions, batch, hidden]; gives the h of all positions, and the last (h, c).
    """

    _gates = 4

    def _step(self, state: tuple, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> tuple:
        h, c = state
        i, f, g, o = functions["split"](inputs + functions["linear"](h, weight, bias), 4, -1)
        sigmoid, tanh = functions["sigmoid"], functions["tanh"]
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        return sigmoid(o) * tanh(c), c

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        y, (h, c) = self._run(x, list(state) if state is not None else [self._zeros(x), self._zeros(x)])
        return y, (h, c)


class GRU(_Recurrent):
    """Gated recurrent unit: with r, z = sigmoid of linear maps of input and h, and n = tanh(W x + r (U h + b)),
    h' = (1 - z) n + z h. The gates stand in the order r, z, n.

    Takes and gives sequences as LSTM does, with h alone as the state.
    """

    _gates = 3

    def _step(self, state: tuple, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> tuple:
        (h,) = state
        ir, iz, inew = functions["split"](inputs, 3, -1)
        hr, hz, hnew = functions["split"](functions["linear"](h, weight, bias), 3, -1)
        r, z = functions["sigmoid"](ir + hr), functions["sigmoid"](iz + hz)
        n = functions["tanh"](inew + r * hnew)
        return ((1 - z) * n + z * h,)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y, (h,) = self._run(x, [state if state is not None else self._zeros(x)])
        return y, h
