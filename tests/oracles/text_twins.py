"""Brute-force twins of the kernels on text: dense matrices of terms by terms."""

import numpy as np
from scipy import linalg

from skmoderndata import kernels as sk
from tests.oracles.kernel_twins import Twin

CORPUS = np.array(
    [
        [2, 1, 0, 0, 1],
        [0, 1, 1, 0, 0],
        [1, 0, 2, 1, 0],
        [0, 0, 1, 3, 1],
        [1, 1, 0, 0, 0],
        [0, 2, 0, 1, 1],
    ],
    dtype=float,
)
FEW = CORPUS[:3]
P = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.0, 2.0], [0.25, 0.0]])
Q = P @ P.T + np.eye(5)


def relation(kernel):
    """Matrix of terms by terms between the two samples."""
    name = type(kernel).__name__
    if name == "VectorSpace":
        return np.eye(5)
    if name == "SemanticSmoothing":
        return P @ P.T if kernel.proximity is not None else Q

    D = np.asarray(kernel.corpus)
    n = len(D)
    G = D.T @ D
    if name == "TfIdf":
        n_t = (D > 0).sum(axis=0)
        w = np.log((1 + n) / (1 + n_t)) + 1 if kernel.smooth else np.log(n / n_t)
        return np.diag(w**2)

    if name == "GeneralizedVectorSpace":
        return G
    if name == "LatentSemantic":
        V = np.linalg.svd(D)[2][: kernel.n_components]
        return V.T @ V

    # diffusion kernels are sums over chains of terms in documents
    lam = kernel.decay
    if lam is None:
        lam = kernel.relative_decay / np.linalg.eigvalsh(G)[-1]
    if kernel.kind == "exponential":
        return linalg.expm(lam * G)
    return np.linalg.inv(np.eye(5) - lam * G)


def pair(kernel, x, z):
    """Bilinear form of the two rows."""
    return float(x @ relation(kernel) @ z)


def rows(rng, n):
    """Draw rows of counts of five terms."""
    return rng.poisson(1.0, size=(n, 5)).astype(float)


TWINS = {
    "VectorSpace": Twin(lambda: [sk.VectorSpace()], pair, rows),
    "TfIdf": Twin(
        lambda: [sk.TfIdf(corpus=CORPUS), sk.TfIdf(corpus=FEW, smooth=True)], pair, rows
    ),
    "SemanticSmoothing": Twin(
        lambda: [sk.SemanticSmoothing(P), sk.SemanticSmoothing(similarity=Q)], pair, rows
    ),
    "GeneralizedVectorSpace": Twin(
        lambda: [sk.GeneralizedVectorSpace(corpus=D) for D in (CORPUS, FEW)], pair, rows
    ),
    "SemanticDiffusion": Twin(
        lambda: [
            sk.SemanticDiffusion(corpus=CORPUS),
            sk.SemanticDiffusion(corpus=FEW, relative_decay=0.9),
            sk.SemanticDiffusion("exponential", decay=0.1, corpus=CORPUS),
            sk.SemanticDiffusion("exponential", relative_decay=2.0, corpus=FEW),
        ],
        pair,
        rows,
    ),
    "LatentSemantic": Twin(
        lambda: [
            sk.LatentSemantic(2, corpus=CORPUS),
            sk.LatentSemantic(2, corpus=FEW),
            sk.LatentSemantic(5, corpus=CORPUS),
        ],
        pair,
        rows,
    ),
}
