"""einsum against NumPy's, on random subscripts of every kind."""

import numpy as np
import pytest

import pypto as pto


def random_product(rng):
    """Subscripts and operands that go together."""
    sizes = {label: int(rng.integers(1, 4)) for label in "abcdeXY"}
    labels = list(sizes)
    dots = [int(n) for n in rng.integers(1, 4, rng.integers(0, 3))] if rng.random() < 0.4 else None
    inputs, operands = [], []
    for _ in range(rng.integers(1, 5)):
        term = "".join(rng.choice(labels, rng.integers(0, 4)))  # repeated labels are diagonals
        shape = [sizes[c] for c in term]
        if dots is not None and rng.random() < 0.7:
            at = int(rng.integers(0, len(term) + 1))
            own = [n if rng.random() < 0.7 else 1 for n in dots[rng.integers(0, len(dots) + 1) :]]
            term, shape = term[:at] + "..." + term[at:], shape[:at] + own + shape[at:]
        inputs.append(term)
        operands.append(rng.integers(-4, 5, shape).astype(np.float32))
    text = ",".join(inputs)
    if rng.random() < 0.6:
        used = sorted({c for c in text if c.isalpha()})
        kept = [c for c in used if rng.random() < 0.5]
        rng.shuffle(kept)
        if "..." in text:
            kept.insert(int(rng.integers(0, len(kept) + 1)), "...")
        text += "->" + "".join(kept)
    return text.replace(",", " , " if rng.random() < 0.2 else ","), operands


@pytest.mark.parametrize("seed", range(4))
def test_random_subscripts(seed):
    rng = np.random.default_rng(seed)
    for k in range(40):
        text, operands = random_product(rng)
        want = np.einsum(text, *operands, dtype=np.float64, casting="safe")
        got = pto.einsum(text, *operands)
        assert got.dtype == "float32"
        np.testing.assert_array_equal(got.numpy(), want, err_msg=text)
        if k % 4 == 0:
            compiled = pto.jit(lambda *xs, text=text: pto.einsum(text, *xs))
            np.testing.assert_array_equal(compiled(*operands).numpy(), want, err_msg=text)


def test_subscripts_as_lists():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, (2, 3)).astype(np.float32), rng.integers(-4, 5, (3, 4)).astype(np.float32)
    c = rng.integers(-4, 5, (5, 2, 2)).astype(np.float32)
    for arguments in [
        (a, [0, 1], b, [1, 2], [0, 2]),
        (a, [0, 1], b, [1, 2]),
        (a, [1, 0]),
        (a, (26, 3)),
        (c, [..., 0, 0], [...]),
        (c, [..., 1, 0]),
        (a, [0, 1], b, [1, 2], a, [0, 3], [3, 2]),
    ]:
        np.testing.assert_array_equal(pto.einsum(*arguments).numpy(), np.einsum(*arguments))


def test_numbers_and_mixed_types():
    x = np.array([1, 2, 3])
    assert pto.einsum("i,->", x, 2).item() == 12
    assert pto.einsum("i,->i", x, 0.5).dtype == "float32"
    assert pto.einsum("i,i", x.astype(np.int8), x.astype(np.float64)).dtype == "float64"
    assert pto.einsum(",", 2, 3).item() == 6
    assert pto.einsum("i->", np.array([True, True])).item() == np.einsum("i->", np.array([True, True]))


def test_a_long_chain_takes_a_cheap_order():
    rng = np.random.default_rng(1)
    matrices = [rng.standard_normal((40, 40)) for _ in range(6)]
    v = rng.standard_normal(40)
    text = "ab,bc,cd,de,ef,fg,g->a"
    np.testing.assert_allclose(pto.einsum(text, *matrices, v).numpy(), np.linalg.multi_dot([*matrices, v]), rtol=1e-10)
    fn = pto.jit(lambda *xs: pto.einsum(text, *xs))
    fn(*matrices, v)
    products = [outputs[0] for row, _, outputs, *_ in fn.graph.nodes if row == "contract"]
    assert products == ["f64[40]"] * 6  # matrices with vectors only
