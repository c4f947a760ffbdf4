"""A dictionary with an l1 penalty on the codes: how low is the objective?"""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_sample_images
from sklearn.decomposition import sparse_encode
from sklearn.feature_extraction.image import extract_patches_2d

from benchmarks.compare.home import Case, Home
from skmoderndata.decomposition import FeatureSignDictionaryLearning

# Minimum standard deviation of the pixels of a patch.
CONTRAST = 0.02


def make(seed, n=4000, n_components=256, alpha=0.1):
    """Patches of two photographs, in grey, that are not flat, each minus its mean."""
    rng = np.random.default_rng(seed)
    images = [image.mean(axis=2) / 255 for image in load_sample_images().images]
    X = np.concatenate(
        [
            extract_patches_2d(image, (8, 8), max_patches=n, random_state=seed)
            for image in images
        ]
    ).reshape(-1, 64)
    X = X[X.std(axis=1) > CONTRAST]
    X = rng.permutation(X)[:n]
    X = X - X.mean(axis=1, keepdims=True)
    return Case(
        inputs=SimpleNamespace(X=X, n_components=n_components, alpha=alpha),
        truth=X,
        about=f"{n:,} patches of photographs, 8 x 8 pixels; {n_components} atoms, "
        f"penalty {alpha:g}",
    )


def ours(inputs):
    model = FeatureSignDictionaryLearning(
        inputs.n_components, alpha=inputs.alpha, max_iter=20, random_state=0
    )
    return model.fit(inputs.X).components_


def score(case, atoms):
    """The objective per row, at the best codes for atoms of norm at most one."""
    X = case.truth
    alpha = case.inputs.alpha
    atoms = atoms / np.maximum(np.linalg.norm(atoms, axis=1, keepdims=True), 1)
    codes = sparse_encode(X, atoms, algorithm="lasso_lars", alpha=alpha)
    return (0.5 * np.sum((X - codes @ atoms) ** 2) + alpha * np.abs(codes).sum()) / len(X)


HOME = Home(
    when="you want to learn a dictionary of many atoms for thousands of signals, with an l1 "
    "penalty",
    title="atoms of photographs with an l1 penalty",
    kind="signals and images",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="objective per patch",
    smaller=True,
    by_time=True,
    first_seed=320,
    margin=0.0005,
    n_rounds=3,
    gain="Reaches an objective of {ours:.4f} in {our_seconds:.2g} s; {name} takes "
    "{times:.1f} times as long and reaches {rival:.4f}.",
    lines=(
        "model = FeatureSignDictionaryLearning(n_components, alpha=alpha, random_state=0)\n"
        "model.fit(X).components_"
    ),
    levels={"n": (600,), "alpha": (0.05, 0.2), "n_components": (40,)},
    full_only=True,
)
