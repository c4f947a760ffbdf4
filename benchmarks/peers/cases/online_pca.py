"""Principal components of a stream that is seen once."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, subspace_angles

from benchmarks.peers import Case, Contender

N_COMPONENTS = 10


class Stream(NamedTuple):
    """Rows with a known covariance, and the directions of batch PCA."""

    X: np.ndarray
    batch: np.ndarray


def work(size, rng):
    """Gaussian rows whose standard deviations fall from 10 to 1 over the leading directions."""
    n_samples, n_features = size
    scale = np.full(n_features, 0.5)
    scale[:N_COMPONENTS] = np.linspace(10, 1, N_COMPONENTS)
    rotation = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
    X = rng.normal(size=(n_samples, n_features)) * scale @ rotation + rng.normal(
        size=n_features
    )
    centred = X - X.mean(axis=0)
    last = [n_features - N_COMPONENTS, n_features - 1]
    batch = eigh(centred.T @ centred, subset_by_index=last)[1].T[::-1]
    return Stream(X, batch)


def quality(stream, components):
    """Compare the directions with batch PCA."""
    components = np.asarray(components)
    components = components / np.linalg.norm(components, axis=1, keepdims=True)
    centred = stream.X - stream.X.mean(axis=0)
    basis = np.linalg.qr(components.T)[0]
    angles = subspace_angles(basis, stream.batch.T)
    cosines = np.abs(np.sum(components * stream.batch, axis=1))
    return {
        "subspace": float(np.sin(angles[0])),
        "first": float(np.sqrt(max(0.0, 1 - min(1.0, cosines[0]) ** 2))),
        "variance lost": float(
            1 - np.sum((centred @ basis) ** 2) / np.sum((centred @ stream.batch.T) ** 2)
        ),
    }


def one_pass(stream):
    from skmoderndata.decomposition import CCIPCA

    return CCIPCA(n_components=N_COMPONENTS).partial_fit(stream.X).components_


def many_passes(stream):
    from skmoderndata.decomposition import CCIPCA

    return CCIPCA(n_components=N_COMPONENTS, random_state=0).fit(stream.X).components_


def sklearn_incremental(stream):
    from sklearn.decomposition import IncrementalPCA

    return IncrementalPCA(n_components=N_COMPONENTS).fit(stream.X).components_


def sklearn_rows(stream):
    from sklearn.decomposition import IncrementalPCA

    batch = 2 * N_COMPONENTS
    return (
        IncrementalPCA(n_components=N_COMPONENTS, batch_size=batch).fit(stream.X).components_
    )


def sklearn_batch(stream):
    from sklearn.decomposition import PCA

    return (
        PCA(n_components=N_COMPONENTS, svd_solver="covariance_eigh").fit(stream.X).components_
    )


CASE = Case(
    title="Online PCA: one pass over a stream",
    question=(
        "How close to batch PCA does one pass come, and at what cost? CCIPCA updates after "
        "every row and keeps k vectors; scikit-learn's IncrementalPCA needs batches of rows."
    ),
    remarks=(
        "All contenders compute ten components. A method that sees each row once and keeps only "
        "k vectors cannot match methods that keep a batch; the table shows by how much it falls "
        "short."
    ),
    ours="CCIPCA.partial_fit",
    sizes={
        "50 features, 1,000 rows": (1_000, 50),
        "200 features, 20,000 rows": (20_000, 200),
        "1000 features, 5,000 rows": (5_000, 1000),
        "100 features, 200,000 rows": (200_000, 100),
    },
    repeat=3,
    quick_sizes={"50 features, 5,000 rows": (5_000, 50)},
    warmup=(500, 20),
    work=work,
    contenders={
        "CCIPCA.partial_fit": Contender(
            run=one_pass,
            peer=False,
            note="sees every row once, in order, and keeps k vectors",
        ),
        "CCIPCA.fit": Contender(
            run=many_passes,
            peer=False,
            note="makes passes over the shuffled rows until its default tolerance is met",
        ),
        "IncrementalPCA": Contender(
            run=sklearn_incremental,
            requires="scikit-learn>=1.9",
            note="the default batches of 5 times n_features rows",
        ),
        "IncrementalPCA, small batches": Contender(
            run=sklearn_rows,
            requires="scikit-learn>=1.9",
            note=(
                "batches of 20 rows, which is as close as it comes to an update after every "
                "row"
            ),
        ),
        "PCA": Contender(
            run=sklearn_batch,
            requires="scikit-learn>=1.9",
            note=(
                "batch PCA with `svd_solver='covariance_eigh'`, which needs the whole "
                "covariance matrix"
            ),
        ),
    },
    quality=quality,
    figures={
        "subspace": (
            "sine of the largest angle between the subspaces of the contender and of batch PCA"
        ),
        "first": (
            "sine of the angle between the first directions of the contender and of batch PCA"
        ),
        "variance lost": (
            "fraction of the variance in the batch subspace that the subspace of the "
            "contender misses"
        ),
    },
    memory_unit=("multiples of the size of the input", lambda stream: float(stream.X.nbytes)),
    excluded={
        "incremental-pca-torch": (
            "needs PyTorch, and implements the same batch method as IncrementalPCA"
        ),
    },
)
