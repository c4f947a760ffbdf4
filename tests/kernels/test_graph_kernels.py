"""Evidence that kernels from graphs sum over paths and walks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import expm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct
from sklearn.svm import SVC

from skmoderndata.kernels import (
    ANOVA,
    AllSubsets,
    DAGPath,
    ExponentialDiffusion,
    GraphPath,
    Pullback,
    VonNeumann,
)

LINEAR = DotProduct(0.0, "fixed")
PATH = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])


class Column:
    def __init__(self, i):
        self.i = i

    def __call__(self, X):
        return np.asarray(X)[:, [self.i]]


def coordinate(i):
    return Pullback(LINEAR, Column(i))


@pytest.mark.oracle
def test_numbers_worked_out_by_hand():
    edges = [("s", "a", 4), ("s", "b", 10), ("a", "b", 1), ("a", "t", 1), ("b", "t", 18)]
    assert DAGPath(edges, "s", "t")([[0.0]])[0, 0] == 256
    loop = [("s", "a", 1), ("a", "a", 0.5), ("a", "t", 2)]
    assert GraphPath(loop, "s", "t")([[0.0]])[0, 0] == pytest.approx(4, rel=1e-12)
    assert_allclose(VonNeumann(PATH, 0.5)(range(3)), [[1.5, 1, 0.5], [1, 2, 1], [0.5, 1, 1.5]])
    heat = ExponentialDiffusion(PATH, 0.5, laplacian=True)(range(3))
    assert_allclose(heat[0], [0.6737870, 0.2589566, 0.0672564], atol=1e-7)
    assert_allclose(heat.sum(axis=1), 1)


@pytest.mark.oracle
def test_special_graphs(seed):
    X = np.random.default_rng(seed).normal(size=(6, 3))
    subsets = [(i, i + 1, k) for i in range(3) for k in (1.0, coordinate(i))]
    assert_allclose(DAGPath(subsets, 0, 3)(X), AllSubsets()(X), rtol=1e-10)
    grid = [((m, s), (m + 1, s), 1.0) for m in range(3) for s in range(3)]
    grid += [((m, s), (m + 1, s + 1), coordinate(m)) for m in range(3) for s in range(2)]
    assert_allclose(DAGPath(grid, (0, 0), (3, 2))(X), ANOVA(2)(X), rtol=1e-10, atol=1e-12)
    layers = [(i, i + 1, DotProduct(1.0)) for i in range(3)]
    assert_allclose(DAGPath(layers, 0, 3)(X), (1 + X @ X.T) ** 3, rtol=1e-10)
    small = [(i, i + 1, ConstantKernel(0.1) * RBF()) for i in range(3)]
    assert_allclose(GraphPath(small, 0, 3)(X), DAGPath(small, 0, 3)(X), rtol=1e-10)


@pytest.mark.oracle
def test_series_of_powers(seed):
    A = np.random.default_rng(seed).random((8, 8))
    B = A + A.T
    decay = 0.05
    power = np.eye(8)
    total = np.zeros((8, 8))
    exponential = np.zeros((8, 8))
    factor = 1.0
    for k in range(80):
        total += power
        exponential += power * factor
        power = decay * power @ B
        factor = factor / (k + 1)
    assert_allclose(VonNeumann(B, decay)(range(8)), total, rtol=1e-8)
    assert_allclose(ExponentialDiffusion(B, decay)(range(8)), exponential, rtol=1e-10)
    assert_allclose(exponential, expm(decay * B), rtol=1e-10)


@pytest.mark.recovery
def test_two_labels_are_enough_for_two_communities():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    P = np.where(y[:, None] == y, 0.4, 0.02)
    A = np.triu(rng.random((40, 40)) < P, 1).astype(float)
    A += A.T
    known = [0, 20]
    model = SVC(kernel=ExponentialDiffusion(A, 0.5, laplacian=True)).fit(known, y[known])
    assert np.mean(model.predict(list(range(40))) == y) > 0.9


@pytest.mark.invariance
def test_numbering_and_containers(seed):
    A = np.random.default_rng(seed).random((7, 7))
    A += A.T
    order = np.random.default_rng(seed).permutation(7)
    for cls in (ExponentialDiffusion, VonNeumann):
        K = cls(A)(range(7))
        assert_allclose(
            cls(A[np.ix_(order, order)])(range(7)), K[np.ix_(order, order)], atol=1e-9
        )
        assert_allclose(cls(sparse.csr_array(A))(np.arange(7)), K, atol=1e-12)
        assert_allclose(cls(A)(np.arange(7.0)[:, None]), K)


@pytest.mark.invariance
def test_the_spectrum_kept_follows_the_parameters():
    kernel = ExponentialDiffusion(PATH, 0.5)
    first = kernel(range(3))
    kernel.set_params(decay=1.0)
    assert_allclose(kernel(range(3)), expm(PATH), rtol=1e-12)
    kernel.set_params(laplacian=True)
    assert_allclose(kernel(range(3)).sum(axis=1), 1)
    kernel.set_params(similarity=2 * PATH, decay=0.25, laplacian=False)
    assert_allclose(kernel(range(3)), first, rtol=1e-12)


@pytest.mark.certificate
def test_raises_if_the_series_is_not_positive():
    assert np.linalg.eigvalsh(np.linalg.inv(np.eye(3) - 0.8 * PATH))[0] < -7
    for relative in (0.01, 0.5, 0.999):
        assert np.linalg.eigvalsh(VonNeumann(PATH, relative_decay=relative)(range(3)))[0] > 0


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (VonNeumann(PATH, 0.8), [0], "decay=0.8.*1 / rho = 0.707107"),
        (VonNeumann(PATH, relative_decay=1.0), [0], "relative_decay=1.0"),
        (VonNeumann(PATH, include_identity=False), [0], "eigenvalue -1.41"),
        (ExponentialDiffusion(PATH), [3], "node 3 is not in the graph.*0 to 2"),
        (ExponentialDiffusion(PATH), [-1], "node -1"),
        (ExponentialDiffusion(PATH), [0.5], "an integer"),
        (ExponentialDiffusion(PATH), ["a"], "an integer"),
        (ExponentialDiffusion(PATH[:2]), [0], "square"),
        (ExponentialDiffusion(np.triu(PATH)), [0], r"\(A \+ A.T\) / 2"),
        (ExponentialDiffusion(PATH, np.nan), [0], "decay"),
        (DAGPath([(0, 1, 1.0), (1, 0, 1.0)], 0, 1), [[0.0]], "cycle; use GraphPath"),
        (DAGPath([(0, 1, -1.0)], 0, 1), [[0.0]], "has the weight -1.0"),
        (DAGPath([(0, 1)], 0, 1), [[0.0]], "an edge must be"),
        (DAGPath([(0, 1, 1.0)], 0, 2), [[0.0]], "sink=2"),
        (GraphPath([(0, 0, 1.0), (0, 1, 1.0)], 0, 1), [[0.0]], "spectral radius is 1"),
    ],
    ids=lambda v: repr(v)[:40],
)
def test_messages_name_parameter_and_remedy(kernel, X, message):
    with pytest.raises(ValueError, match=message):
        kernel(X)


@pytest.mark.edge
def test_edge_cases():
    assert_allclose(VonNeumann(np.zeros((2, 2)))([0, 1]), np.eye(2))
    assert_allclose(ExponentialDiffusion([[2.0]])([0, 0]), np.full((2, 2), np.exp(2)))
    assert_allclose(DAGPath([(0, 1, 0.0)], 0, 1)([[1.0]]), [[0.0]])
    assert_allclose(DAGPath([(0, 1, 2.0)], 0, 0)([[1.0]]), [[1.0]])
