"""The cache of compiled kernels on disk: used where it holds, and never wrong, in the way or without bound."""

import json
import os
import random
import resource
import subprocess
import sys

import pytest

from pypto import _core

PROGRAM = """
import json
import numpy as np
import pypto as pto

@pto.jit
def f(x, w):
    h = pto.softmax(x @ w, axis=-1)
    return pto.sort(h, axis=-1), h.sum(axis=0)

rng = np.random.default_rng(3)
x, w = rng.normal(size=(24, 16)).astype(np.float32), rng.normal(size=(16, 40)).astype(np.float32)
s, t = f(x, w)
h = np.exp(x.astype(float) @ w)
h /= h.sum(axis=1, keepdims=True)
np.testing.assert_allclose(s.numpy(), np.sort(h, axis=1), rtol=1e-4)
np.testing.assert_allclose(t.numpy(), h.sum(axis=0), rtol=1e-4)
c = pto.counters()
print(json.dumps([c["kernels_compiled"], c["disk_hits"]]))
"""


def command(directory, **env):
    """What starts the program with a cache directory (None: as the environment without settings says)."""
    all_env = {k: v for k, v in os.environ.items() if k not in ("PTO_CACHE_DIR", "XDG_CACHE_HOME", "PTO_TARGET")}
    if directory is not None:
        all_env["PTO_CACHE_DIR"] = str(directory)
    all_env |= env
    return {"args": [sys.executable, "-c", PROGRAM], "env": {k: v for k, v in all_env.items() if v is not None}}


def run(directory, options=None, **env):
    """(kernels compiled, hits on disk) of a process, whose numbers were right."""
    result = subprocess.run(**command(directory, **env), capture_output=True, text=True, timeout=120, **(options or {}))
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return tuple(json.loads(result.stdout))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A directory that the program has filled: the bytes by name, and how many kernels there are."""
    directory = tmp_path_factory.mktemp("filled")
    compiled, hits = run(directory)
    assert compiled >= 2 and hits == 0
    entries = {p.name: p.read_bytes() for p in directory.iterdir()}
    assert len(entries) == compiled and all(name.endswith(".kernel") for name in entries)
    return entries


@pytest.fixture
def cache(tmp_path, filled):
    for name, data in filled.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_second_process_compiles_nothing(cache, filled):
    assert run(cache) == (0, len(filled))
    assert {p.name: p.read_bytes() for p in cache.iterdir()} == filled


def flip(data, rng):
    bad = bytearray(data)
    for _ in range(rng.choice([1, 3, 50])):
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
    return bytes(bad)


# Bytes 8 to 32 of an entry are its lengths and its checksum.
DAMAGE = {
    "empty": lambda data, rng: b"",
    "truncated": lambda data, rng: data[: rng.randrange(1, len(data))],
    "header only": lambda data, rng: data[:32],
    "last byte missing": lambda data, rng: data[:-1],
    "longer": lambda data, rng: data + b"more",
    "flipped bits": flip,
    "last byte flipped": lambda data, rng: data[:-1] + bytes([data[-1] ^ 1]),
    "wrong checksum": lambda data, rng: data[:24] + bytes(b ^ 0x5A for b in data[24:32]) + data[32:],
    "huge lengths": lambda data, rng: data[:8] + b"\xff" * 16 + data[24:],
    "another format": lambda data, rng: b"ptokern0" + data[8:],
    "zeros": lambda data, rng: bytes(len(data)),
    "text": lambda data, rng: b"this is no kernel\n" * 1000,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_entries_are_compiled_again(kind, cache, filled):
    rng = random.Random(kind)
    for path in cache.iterdir():
        path.write_bytes(DAMAGE[kind](path.read_bytes(), rng))
    assert run(cache) == (len(filled), 0)
    assert run(cache) == (0, len(filled))  # they were replaced


def test_one_damaged_entry_costs_one_compilation(cache, filled):
    path = sorted(cache.iterdir())[0]
    path.write_bytes(path.read_bytes()[:100])
    assert run(cache) == (1, len(filled) - 1)


def test_entries_under_other_names(cache, filled):
    """An intact entry in another's place is not that other."""
    names = sorted(filled)
    for name, other in zip(names, names[1:] + names[:1]):
        (cache / name).write_bytes(filled[other])
    assert run(cache) == (len(filled), 0)


def test_directories_in_the_places_of_entries(cache, filled):
    for name in filled:
        (cache / name).unlink()
        (cache / name).mkdir()
    assert run(cache) == (len(filled), 0)


def test_eight_processes_at_once(tmp_path, filled):
    children = [subprocess.Popen(**command(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(8)]
    for child in children:
        out, errors = child.communicate(timeout=240)
        assert child.returncode == 0, errors
        compiled, hits = json.loads(out)
        assert compiled + hits == len(filled)
    assert {p.name for p in tmp_path.iterdir()} == set(filled)  # whole ones, and nothing temporary
    assert run(tmp_path) == (0, len(filled))


def test_another_machines_entries(tmp_path):
    """Each target has entries of its own, even where a file is renamed to the other's name."""
    targets = [t.partition(".")[2] for t in _core.target_names()]
    host = _core.host_target().partition(".")[2]
    others = targets[targets.index(host) + 1 :] if host in ("avx512", "avx2") else []
    if not others:
        pytest.skip("this machine runs one target only")
    narrow = others[0]
    kernels = run(tmp_path / "both")[0]
    compiled, hits = run(tmp_path / "both", PTO_TARGET=narrow)
    assert compiled > 0 and hits == 0
    assert run(tmp_path / "both") == (0, kernels)
    assert run(tmp_path / "both", PTO_TARGET=narrow) == (0, compiled)
    # The wide machine's code under the narrow one's names.
    run(tmp_path / "wide")
    run(tmp_path / "narrow", PTO_TARGET=narrow)
    wide = [p.read_bytes() for p in (tmp_path / "wide").iterdir()]
    for i, path in enumerate(sorted((tmp_path / "narrow").iterdir())):
        path.write_bytes(wide[i % len(wide)])
    assert run(tmp_path / "narrow", PTO_TARGET=narrow) == (compiled, 0)


def test_bounded(cache, filled):
    """The oldest go first when the directory exceeds its bound; other files stay."""
    for i in range(8):
        path = cache / f"{i:032x}.kernel"
        with open(path, "wb") as f:
            f.truncate(100 << 20)  # takes no space
        os.utime(path, (1e9 + i, 1e9 + i))
    (cache / "notes.txt").write_text("mine")
    assert run(cache, PTO_TARGET=None) == (0, len(filled))
    (cache / sorted(filled)[0]).unlink()  # something is written, and the directory looked through
    assert run(cache) == (1, len(filled) - 1)
    left = {p.name: p.stat().st_size for p in cache.iterdir()}
    assert sum(left.values()) < 512 << 20
    assert set(filled) <= set(left) and "notes.txt" in left
    assert f"{0:032x}.kernel" not in left and f"{7:032x}.kernel" in left


def test_no_directory(tmp_path, filled):
    everything = (len(filled), 0)
    assert run("") == everything
    (tmp_path / "file").write_text("")
    assert run(tmp_path / "file" / "below") == everything
    assert run(tmp_path / "file") == everything
    assert run("/proc/self/pypto") == everything
    assert run(None, HOME=None) == everything
    assert run(tmp_path / "made" / "when" / "needed") == everything
    assert run(tmp_path / "made" / "when" / "needed") == (0, len(filled))


def test_default_directory(tmp_path, filled):
    run(None, HOME=str(tmp_path))
    assert {p.name for p in (tmp_path / ".cache" / "pypto").iterdir()} == set(filled)
    run(None, HOME="/nonexistent", XDG_CACHE_HOME=str(tmp_path / "xdg"))
    assert {p.name for p in (tmp_path / "xdg" / "pypto").iterdir()} == set(filled)


def test_read_only_directory(cache, filled):
    cache.chmod(0o500)
    for path in cache.iterdir():
        path.chmod(0o400)
    try:
        assert run(cache) == (0, len(filled))
    finally:
        cache.chmod(0o700)


def test_full_disk(tmp_path, filled):
    """Writes that fail leave nothing behind."""
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))}
    assert run(tmp_path, options=limit) == (len(filled), 0)
    assert list(tmp_path.iterdir()) == []


def test_processes_that_are_killed_leave_no_damage(tmp_path, filled):
    for wait in (0.3, 0.5, 0.7, 0.9):
        child = subprocess.Popen(**command(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(wait)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    assert sum(run(tmp_path)) == len(filled)


def test_entries_are_private(cache, tmp_path_factory):
    directory = tmp_path_factory.mktemp("private")
    run(directory)
    assert all(p.stat().st_mode & 0o077 == 0 for p in directory.iterdir())
