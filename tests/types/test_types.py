"""The stubs are what the tables say, hold every public name, and type checkers read them as users mean."""

import ast
import inspect
import pathlib
import runpy
import subprocess
import sys

import pytest

import pypto as pto

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = ROOT / "python" / "pypto"


def test_stubs_are_what_the_tables_say():
    run = subprocess.run([sys.executable, ROOT / "tools" / "make_stubs.py", "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def declared(body):
    """The names that a stub declares."""
    names = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {t.id for t in node.targets}
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom) and node.level:
            names |= {a.asname for a in node.names if a.asname}
    return {n for n in names if not n.startswith("_")}


def test_stub_declares_what_there_is():
    names = declared(ast.parse((PACKAGE / "__init__.pyi").read_text()).body)
    there = {n for n in vars(pto) if not n.startswith("_")} - {"annotations", "Any", "mypy_plugin"}
    assert names == there


def test_methods_are_declared():
    classes = {n.name: declared(n.body) for n in ast.parse((PACKAGE / "_core.pyi").read_text()).body if isinstance(n, ast.ClassDef)}
    source = ast.parse((PACKAGE / "_tensor.py").read_text()).body
    own = next(declared(n.body) for n in source if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    assert {n for n in dir(pto.Tensor) if not n.startswith("_")} == classes["TensorHandle"] | own


def mypy(*files):
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", *files]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_right_passes():
    run = mypy(HERE / "right.py")
    assert run.returncode == 0, run.stdout + run.stderr


def test_right_runs():
    runpy.run_path(str(HERE / "right.py"))


def test_wrong_is_refused():
    lines = (HERE / "wrong.py").read_text().splitlines()
    wanted = [n for n, line in enumerate(lines, 1) if line.endswith("# refused")]
    run = mypy(HERE / "wrong.py")
    refused = sorted({int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error:" in line})
    assert refused == wanted, run.stdout + run.stderr


@pytest.mark.parametrize(
    "name, shown",
    [
        ("softmax", "(x: Tensor, axis: int | tuple[int, ...] = -1, *, dim: int | tuple[int, ...] = axis) -> Tensor"),
        ("exp", "(x: Tensor) -> Tensor"),
        ("eye", "(n: Size, m: Size | None = None, k: Size = 0, dtype: DType = pypto.float32) -> Tensor"),
        ("broadcast_arrays", "(*xs: Tensor) -> tuple[Tensor, ...]"),
    ],
)
def test_signatures(name, shown):
    assert str(inspect.signature(getattr(pto, name))) == shown


def test_every_function_tells_what_it_takes():
    for name in (row["name"] for row in pto.function_table()):
        function = getattr(pto, name, None) or getattr(pto.random, name, None)
        if function is None:  # draws with a key of their own
            continue
        parameters = inspect.signature(function).parameters
        assert function.__doc__
        if function.__module__ == "pypto.random":
            continue
        assert ("axis" in parameters) <= ("dim" in parameters), name
        assert ("keepdims" in parameters) <= ("keepdim" in parameters), name
