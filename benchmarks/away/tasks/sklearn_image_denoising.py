"""Patches of a distorted half of a photograph."""

import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d

from benchmarks.away.task import Task
from skmoderndata.image import DictionaryDenoiser


def load():
    """Return the photograph at a quarter of its size, and a copy with a noisy right half."""
    whole = load_sample_image("china.jpg").mean(axis=2)[:320] / 255
    clean = whole.reshape(160, 2, 320, 2).mean(axis=(1, 3))
    noisy = clean.copy()
    width = clean.shape[1]
    noise = 0.075 * np.random.RandomState(0).randn(len(clean), width - width // 2)
    noisy[:, width // 2 :] += noise
    return clean[:, width // 2 :], noisy[:, : width // 2], noisy[:, width // 2 :]


def theirs(problem):
    """Learn 50 atoms from the good half; code the noisy half with two atoms by OMP."""
    clean, good, noisy = problem
    data = extract_patches_2d(good, (7, 7)).reshape(-1, 49)
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    model = MiniBatchDictionaryLearning(
        n_components=50, batch_size=200, alpha=1.0, max_iter=10, random_state=0
    ).fit(data)
    patches = extract_patches_2d(noisy, (7, 7)).reshape(-1, 49)
    mean = patches.mean(axis=0)
    model.set_params(transform_algorithm="omp", transform_n_nonzero_coefs=2)
    restored = model.transform(patches - mean) @ model.components_ + mean
    image = reconstruct_from_patches_2d(restored.reshape(-1, 7, 7), noisy.shape)
    return np.linalg.norm(image - clean)


def ours(problem, **settings):
    """Learn from the noisy half alone."""
    clean, _, noisy = problem
    return np.linalg.norm(
        DictionaryDenoiser(random_state=0, **settings).fit_transform(noisy) - clean
    )


TASK = Task(
    name="sklearn_image_denoising",
    origin="scikit-learn gallery",
    link="https://scikit-learn.org/stable/auto_examples/decomposition/plot_image_denoising.html",
    program="MiniBatchDictionaryLearning of scikit-learn",
    data="shipped by scikit-learn",
    licence="CC BY 2.0",
    measure=(
        "distance of the restored half of the image from the original (china in place "
        "of the raccoon)"
    ),
    better="lower",
    published=None,
    expected="ours",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=lambda problem: ours(problem, noise_std=0.075),
)
