"""What a function shows of itself: levels as text, code in three languages, edited schedules."""

import ctypes
import subprocess

import numpy as np
import pytest

import pypto as pto

TARGET = pto._core.host_target()
LEVELS = ["tensor", "tile", "schedule", "loop", "loop.lowered", "exec", "c", "llvm", "asm"]


def product():
    @pto.kernel
    def matmul(A: pto.Tensor, B: pto.Tensor) -> pto.Tensor:
        return A @ B

    return matmul


@pytest.fixture
def square():
    return np.random.default_rng(0).standard_normal((70, 70)).astype(np.float32)


@pytest.mark.parametrize("level", LEVELS)
def test_levels_print(level, capsys):
    text = product().show(level)
    assert capsys.readouterr().out == text + "\n"
    assert "matmul" in text or "k0" in text


def test_unknown_level():
    with pytest.raises(pto.Error, match="there is no such level"):
        product().show("assembly")


def test_code_before_any_call():
    """Bare tensors are float32 matrices of symbolic sizes; the code takes the sizes."""
    matmul = product()
    assert "k0[s0, s1, s2, s3]" in matmul.get_code(backend="cpu")
    assert "define" in matmul.get_code(lang="llvm")
    assert ".text" in matmul.get_code(lang="asm")


def test_ranks_follow_from_use():
    @pto.kernel
    def weigh(x: pto.Tensor, w: pto.Tensor):
        return pto.einsum("bsd,d->bs", x, w)

    assert "float" in weigh.get_code()
    assert "x: f32[n0_0, n0_1, n0_2]" in str(weigh.graph) and "w: f32[n1_0]" in str(weigh.graph)


def test_specs():
    code = product().get_code(specs=[pto.spec((128, "N"), pto.float64), pto.spec(("N", 7), pto.float64)])
    assert "f64[128, s0]" in code


def test_generated_c_computes(tmp_path, square):
    """The text compiles alone, and one worker of it gives the bits of the compiled function."""
    matmul = product()
    want = matmul(square, square).numpy()
    source = tmp_path / "kernel.c"
    source.write_text(matmul.get_code())
    library = tmp_path / "kernel.so"
    subprocess.run(["cc", "-O2", "-ffp-contract=off", "-fPIC", "-shared", source, "-o", library, "-lm"], check=True)

    class Worker(ctypes.Structure):
        _fields_ = [
            ("index", ctypes.c_int64),
            ("count", ctypes.c_int64),
            ("barrier", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
            ("shared", ctypes.c_void_p),
            ("scratch", ctypes.c_void_p),
            ("error", ctypes.c_void_p),
            ("pool", ctypes.c_void_p),
        ]

    got = np.zeros_like(want)
    scratch = np.zeros(1 << 22, np.uint8)
    base = (scratch.ctypes.data + 63) // 64 * 64
    error = ctypes.c_int32(0)
    barrier = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
    worker = Worker(0, 1, barrier, base, base + (1 << 21), ctypes.addressof(error), None)
    buffers = (ctypes.c_void_p * 3)(square.ctypes.data, square.ctypes.data, got.ctypes.data)
    sizes = (ctypes.c_int64 * 4)(70, 70, 70, 70)
    ctypes.CDLL(str(library)).k0(buffers, sizes, ctypes.byref(worker))
    np.testing.assert_array_equal(got, want)


def test_schedules_are_edited(square, capsys):
    matmul = product()
    want = matmul(square, square).numpy()
    text = matmul.show("schedule")
    text = text[text.index("kernel ") :]
    np.testing.assert_array_equal(matmul.with_schedule(text)(square, square).numpy(), want)
    simple = f"schedule k0 on {TARGET} {{ for i0 {{ for i1 {{ for i2 {{ v0 }} store p2 }} }} }}"
    edited = product()
    edited(square, square)
    scheduled = edited.with_schedule(simple)
    np.testing.assert_allclose(scheduled(square, square).numpy(), want, rtol=1e-5, atol=1e-5)
    assert "for i2 { v0 }" in scheduled.show("schedule")


@pytest.mark.parametrize(
    "text,message",
    [
        ("schedule k0 on TARGET { for i0 { for i1 { store p2 for i2 { v0 } } } }", "v0"),
        ("schedule k0 on TARGET { for i0 { for i2 { v0 } store p2 } }", "i1"),
        ("schedule k0 on TARGET { for i0 { for i1 { parallel i2 { v0 } store p2 } } }", "parallel"),
        ("schedule k1 on TARGET { }", "there is no kernel named k1"),
        ("schedule k0 on TARGET {", "text"),
        ("", "no schedule"),
    ],
)
def test_wrong_schedules_are_refused(text, message, square):
    matmul = product()
    want = matmul(square, square).numpy()
    with pytest.raises(pto.Error) as error:
        matmul.with_schedule(text.replace("TARGET", TARGET))
    assert message in str(error.value)
    np.testing.assert_array_equal(matmul(square, square).numpy(), want)


def test_text_runs_again(square):
    matmul = product()
    want = matmul(square, square).numpy()
    again = pto._core.Executable.parse(str(matmul.executable))
    np.testing.assert_array_equal(again.run([pto.asarray(square)] * 2, {})[0].numpy(), want)
