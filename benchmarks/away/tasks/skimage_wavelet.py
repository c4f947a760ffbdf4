"""A noisy photograph of a cat."""

import numpy as np

from benchmarks.away.task import Task
from benchmarks.away.tasks.skimage_denoise import decibels, ours


def load():
    """Return the grey part of the example's region, clean and with noise."""
    from skimage import data, img_as_float
    from skimage.color import rgb2gray

    clean = rgb2gray(img_as_float(data.chelsea()[100:250, 50:300]))
    return clean, clean + 0.12 * np.random.default_rng(0).normal(size=clean.shape)


def theirs(problem):
    """Use BayesShrink with the soft thresholds of the example."""
    from skimage.restoration import denoise_wavelet

    clean, noisy = problem
    image = denoise_wavelet(noisy, method="BayesShrink", mode="soft", rescale_sigma=True)
    return decibels(image, clean)


TASK = Task(
    name="skimage_wavelet",
    origin="scikit-image, gallery",
    link="https://scikit-image.org/docs/stable/auto_examples/filters/plot_denoise_wavelet.html",
    program="denoise_wavelet of scikit-image",
    data="shipped by scikit-image",
    licence="CC0",
    measure="peak signal-to-noise ratio, noise of .12 on chelsea",
    better="higher",
    published=None,
    expected="ours",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=lambda problem: ours(problem, noise_std=0.12),
)
