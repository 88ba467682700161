"""The table of differences in the page on numbers: every expression runs and gives what stands beside it."""

import pathlib
import re

import numpy as np
import pytest

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "numbers.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("## Where others differ") :]
ROWS = [[c.strip() for c in line.strip("|").split(" | ")] for line in SECTION.splitlines() if line.startswith("| `")]
CODE = re.compile(r"`([^`]*)`(?: is `([^`]*)`)?")
LIBRARIES = [("torch", r"\btorch\."), ("pypto", r"\bpto\.|\b[AMVZI]\b"), ("numpy", "")]  # by what the code names, in this order


def cases():
    """(library, code, result): the first two cells, and the code within the others."""
    for code, result, *others in ROWS:
        result = result.strip("`")
        yield "pypto", code.strip("`"), result
        for other, own in CODE.findall(" ".join(others)):
            if "(" in other or "." in other:  # more than a name
                yield next(name for name, words in LIBRARIES if re.search(words, other)), other, own or result


def shown(x):
    """A result as the table shows it."""
    if hasattr(x, "numpy") and callable(x.numpy):
        x = x.numpy()
    if isinstance(x, np.ndarray) and x.ndim:
        return str(x.tolist())
    if type(x) in (list, tuple) and not all(isinstance(n, int) for n in x):
        return f"[{', '.join(map(shown, x))}]"
    return str(tuple(x)) if isinstance(x, tuple) else str(x)


@pytest.mark.parametrize("library, code, result", list(cases()))
def test_difference(library, code, result):
    scope = {}
    exec(re.search(r"```python\n(.*?)```", SECTION, re.DOTALL)[1], scope)
    if library == "torch":
        torch = pytest.importorskip("torch")
        scope |= {"torch": torch} | {name: torch.tensor(scope[name]) for name in "amvzi"}
    assert shown(eval(code, scope)) == result


def test_the_table_speaks_of_all():
    assert {library for library, _, _ in cases()} == {"pypto", "numpy", "torch"}
    assert all(len(row) == 4 for row in ROWS)
