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


def _programs():
    """Functions that the heuristic gives schedules of every form, with shapes for their arguments."""
    return {
        "matmul": (lambda a, b: a @ b, (64, 64), (64, 64)),
        "small_matmul": (lambda a, b: a @ b, (3, 5), (5, 2)),
        "batched_epilogue": (lambda a, b: pto.tanh(a @ b + 1) * 2, (3, 40, 33), (3, 33, 50)),
        "pointwise": (lambda a, b: pto.exp(a) * b + 1, (37, 50), (50,)),
        "transposed": (lambda a: a.T + 1, (37, 50)),
        "softmax": (lambda a: pto.softmax(a, -1), (40, 100)),
        "softmax_columns": (lambda a: pto.softmax(a, 0), (40, 100)),
        "layer_norm": (lambda a: pto.layer_norm(a, (100,)), (40, 100)),
        "sum_all": (lambda a: pto.sum(a), (300, 70)),
        "sum_rows": (lambda a: pto.sum(a * a, axis=1), (300, 70)),
        "sum_columns": (lambda a: pto.max(a, axis=0), (300, 70)),
        "argmax": (lambda a: pto.argmax(a, axis=1), (30, 70)),
        "variance": (lambda a: pto.var(a, axis=1), (30, 70)),
        "cumsum": (lambda a: pto.cumsum(a, 1) * 2, (30, 70)),
        "sort": (lambda a: pto.sort(a, axis=1) + 1, (30, 70)),
        "concat": (lambda a, b: pto.concat([a * 2, b], 1), (30, 70), (30, 3)),
        "gather": (lambda a: a[[2, 0, 1]] + 1, (30, 70)),
        "pad": (lambda a: pto.pad(a, 2) + 1, (30, 70)),
        "attention": (lambda q, k: pto.scaled_dot_product_attention(q, k, k), (2, 4, 30, 16), (2, 4, 30, 16)),
        "branches": (lambda a, b: pto.cond(pto.sum(a) > 0, lambda: pto.softmax(a @ b, -1), lambda: a @ b), (30, 40), (40, 50)),
    }


@pytest.mark.parametrize("name", _programs())
def test_schedules_that_are_shown_are_taken(name, capsys):
    """The whole listing, its kernels and schedules, and each schedule alone: the same bits."""
    function, *shapes = _programs()[name]
    rng = np.random.default_rng(5)
    inputs = [pto.asarray(rng.standard_normal(shape).astype(np.float32)) for shape in shapes]
    compiled = pto.kernel(function)
    want = compiled(*inputs).numpy()
    text = compiled.show("schedule")
    for given in (text, text[text.index("\nkernel ") :], text[text.index("\nschedule ") :]):
        np.testing.assert_array_equal(compiled.with_schedule(given)(*inputs).numpy(), want)


def test_listings_of_several_classes_of_sizes(capsys):
    """One kernel that runs in two classes is shown, and taken, as two."""

    @pto.kernel
    def f(a, b):
        return pto.softmax(a, -1), pto.softmax(b, -1)

    for n, m in ((30, 40), (3, 2000), (2, 3000)):
        inputs = [pto.ones((n, n)), pto.ones((m, m))]
        want = [t.numpy() for t in f(*inputs)]
    text = f.show("schedule")
    for given in (text, text[text.index("\nkernel ") :], text[text.index("\nschedule ") :]):
        for got, wanted in zip(f.with_schedule(given)(*inputs), want):
            np.testing.assert_array_equal(got.numpy(), wanted)


def test_listings_of_other_programs_are_refused(square, capsys):
    matmul, other = product(), pto.kernel(lambda a, b: pto.sort(a @ b))
    matmul(square, square), other(square, square)
    with pytest.raises(pto.Error, match="another program"):
        matmul.with_schedule(other.show("schedule"))


def test_targets_that_this_machine_cannot_run(square):
    foreign = "aarch64.neon" if TARGET.startswith("x86") else "x86.avx2"
    f = pto.jit(lambda a: a * 2, target=foreign)
    with pytest.raises(pto.Error, match="cannot run") as error:
        f(square)
    assert TARGET in str(error.value)
    assert "k0" in product().get_code(lang="asm", target=foreign)
