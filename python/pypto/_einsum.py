"""einsum, with subscripts as text or as lists of integers."""

from __future__ import annotations

import string
from typing import Any

from . import _core
from ._errors import Error
from ._tensor import Tensor

_LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in the order that results take by themselves


def einsum(subscripts: Any, *operands: Any) -> Tensor:
    """Einstein summation, as NumPy's: ellipsis, repeated labels, implicit output, any number of operands.

    Subscripts are text, or lists of integers (and ``...``) after each operand and at the end for the result:
    ``einsum("ij,jk->ik", a, b)`` is ``einsum(a, [0, 1], b, [1, 2], [0, 2])``. Errors name the label whose
    sizes disagree.
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    return _core.einsum(subscripts, *operands)


def _from_lists(given: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    pairs, result = given[: len(given) // 2 * 2], given[len(given) // 2 * 2 :]
    if not pairs or not all(isinstance(labels, (list, tuple)) for labels in (*pairs[1::2], *result)):
        raise Error(
            "the subscripts come first, or after each operand as a list of integers",
            op="einsum",
            expected="einsum(text, operands...) or einsum(operand, [labels], ...)",
            got=", ".join(type(x).__name__ for x in given),
        )
    text = ",".join(map(_letters, pairs[1::2]))
    return text + "".join("->" + _letters(labels) for labels in result), pairs[::2]


def _letters(labels: Any) -> str:
    for label in labels:
        if label is not Ellipsis and not (isinstance(label, int) and 0 <= label < len(_LETTERS)):
            raise Error("a label is an integer from 0 to 51, or ...", op="einsum", label=str(label), got=repr(labels))
    return "".join("..." if label is Ellipsis else _LETTERS[label] for label in labels)
