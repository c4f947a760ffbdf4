"""Codes of few atoms for many patches of a photograph, in a given dictionary."""

from types import SimpleNamespace

import numpy as np
from scipy.fft import idct
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

from benchmarks.compare.home import Case, Home
from skmoderndata.sparse_coding import SparseCoder


def make(seed, n=500, error=0.3):
    """Patches with contrast; every code has to meet a bound on the residual."""
    image = load_sample_image("china.jpg").mean(axis=2)
    X = extract_patches_2d(image, (8, 8), max_patches=3 * n, random_state=seed)
    X = X.reshape(len(X), -1) - X.mean(axis=(1, 2))[:, None]
    X = X[np.linalg.norm(X, axis=1) > 100][:n]
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    waves = idct(np.eye(11), axis=1, norm="ortho")[:, :8]
    D = np.kron(waves, waves)
    return Case(
        inputs=SimpleNamespace(
            X=X, D=D / np.linalg.norm(D, axis=1, keepdims=True), residual_tol=error
        ),
        truth=X,
        about=f"{len(X)} patches of 8 x 8 pixels, 121 cosines; at most {error:.0%} of the norm of "
        "a patch may remain",
    )


def ours(inputs):
    coder = SparseCoder(inputs.D, residual_tol=inputs.residual_tol)
    return coder.fit(inputs.X).transform(inputs.X)


def score(case, codes):
    """Atoms per patch; a patch that misses the bound counts as 64 atoms."""
    left = np.linalg.norm(case.truth - codes @ case.inputs.D, axis=1)
    n_atoms = np.count_nonzero(codes, axis=1)
    return np.mean(np.where(left <= case.inputs.residual_tol * 1.0001, n_atoms, 64))


HOME = Home(
    when="you want to code many signals by few atoms, up to a bound on the error",
    title="codes of patches up to an error bound",
    kind="signals and images",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="atoms per patch",
    smaller=True,
    by_time=True,
    margin=0.2,
    gain="Codes the patches with {ours:.1f} atoms each in {our_seconds:.2g} s; {name} takes "
    "{times:.0f} times as long.",
    lines="SparseCoder(D, residual_tol=residual_tol).fit(X).transform(X)",
    levels={"error": (0.1, 0.5), "n": (100, 3000)},
)
