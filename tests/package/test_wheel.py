"""`pip install .`: what the wheel holds, and that it runs from where it was installed.

With --slow the wheel is built as a user builds it, in an isolated environment and from nothing; without, in a
folder that stays, by this environment's tools, so that ccache knows what the development build compiled.
"""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np
import pypto as pto

a, b = np.arange(6, dtype="float32").reshape(2, 3), np.ones((3, 2), "float32")
print(pto.__file__)
print((pto.asarray(a) @ b).tolist() == (a @ b).tolist(), pto.counters()["kernels_compiled"])
"""


def run(*command, **options):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(request, tmp_path_factory):
    if not shutil.which("llvm-config-22"):
        pytest.skip("LLVM 22 is not installed here")
    options, env, python = [], dict(os.environ), sys.executable
    if not request.config.getoption("--slow"):
        developing = ROOT / ".venv" / "bin" / "python"  # its headers are those of the development build
        python = developing if developing.exists() else python
        modules = ["scikit_build_core", "nanobind"]
        known = run(python, "-c", f"import importlib.util as u; print([m for m in {modules} if u.find_spec(m)])")
        missing = [m for m in modules if m not in known]
        missing += [t for t in ("cmake", "ninja", "ccache") if not shutil.which(t)]
        if missing:
            pytest.skip(f"building a wheel quickly needs {', '.join(missing)}; --slow builds one from nothing")
        options = ["--no-build-isolation", "-C", f"build-dir={ROOT / 'build-wheel'}"]
        env.setdefault("CXX", "c++")  # as CMake calls it by itself; ccache goes by the name
    folder = tmp_path_factory.mktemp("wheel")
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", *options, "-w", folder, ROOT, env=env)
    (path,) = folder.glob("pypto-*.whl")
    return path


def test_contents(wheel):
    names = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    assert {n.partition("/")[0] for n in names} == {"pypto"}
    libraries = sorted(n.partition("/")[2].partition(".")[0] for n in names if n.endswith(".so"))
    assert libraries == ["_core", "libpto", "libpto_llvm"]
    python = ROOT / "python"
    sources = {p.relative_to(python).as_posix() for p in (python / "pypto").rglob("*") if p.suffix in (".py", ".pyi", ".typed")}
    assert {"pypto/py.typed", "pypto/nn/__init__.py"} <= sources
    assert {n for n in names if not n.endswith(".so")} == sources


def test_metadata(wheel):
    with zipfile.ZipFile(wheel) as z:
        (name,) = [n for n in z.namelist() if n.endswith(".dist-info/METADATA")]
        lines = z.read(name).decode().splitlines()
    assert "Name: pypto" in lines and "Requires-Python: >=3.11" in lines and "License-Expression: Apache-2.0" in lines
    needs = {line.removeprefix("Requires-Dist: ").partition(">")[0] for line in lines if line.startswith("Requires-Dist: ")}
    assert needs == {"numpy", "ml_dtypes"}


@pytest.fixture(scope="module")
def installed(wheel, request, tmp_path_factory):
    """The Python of an environment that has the wheel; its dependencies are this environment's unless --slow."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    run(sys.executable, "-m", "venv", venv)
    python = venv / "bin" / "python"
    options = [] if request.config.getoption("--slow") else ["--no-deps"]
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *options, wheel)
    if options:
        (site,) = venv.glob("lib/python*/site-packages")
        for module in ("numpy", "ml_dtypes"):
            home = pathlib.Path(importlib.util.find_spec(module).origin).parents[1]
            for part in [home / module, home / f"{module}.libs"]:
                if part.exists():
                    (site / part.name).symlink_to(part)
    return python


def test_installed_elsewhere(installed, tmp_path):
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    env["PTO_CACHE_DIR"] = str(tmp_path / "cache")
    where, result = run(installed, "-c", PROGRAM, cwd=tmp_path, env=env).splitlines()
    assert pathlib.Path(where).is_relative_to(installed.parents[1])
    assert result == "True 1"
    for name in ("_core", "libpto_llvm"):
        (library,) = pathlib.Path(where).parent.glob(f"{name}.*so")
        assert "[$ORIGIN]" in run("readelf", "-d", library)
