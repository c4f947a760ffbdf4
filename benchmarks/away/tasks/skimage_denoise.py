"""A noisy photograph."""

import numpy as np

from benchmarks.away.task import Task
from skmoderndata.image import DictionaryDenoiser


def load():
    """Return the grey part of the example's region, clean and with noise."""
    from skimage import data, img_as_float
    from skimage.color import rgb2gray

    clean = rgb2gray(img_as_float(data.astronaut()[30:180, 150:300]))
    return clean, clean + 0.08 * np.random.default_rng(0).normal(size=clean.shape)


def decibels(image, clean):
    return 10 * np.log10(1 / np.mean((np.clip(image, 0, 1) - clean) ** 2))


def theirs(problem):
    """Use the settings of the example, fast non-local means with the noise given."""
    from skimage.restoration import denoise_nl_means

    clean, noisy = problem
    image = denoise_nl_means(
        noisy, h=0.6 * 0.08, sigma=0.08, fast_mode=True, patch_size=5, patch_distance=6
    )
    return decibels(image, clean)


def ours(problem, **settings):
    clean, noisy = problem
    return decibels(DictionaryDenoiser(random_state=0, **settings).fit_transform(noisy), clean)


TASK = Task(
    name="skimage_denoise",
    origin="scikit-image, gallery",
    link="https://scikit-image.org/docs/stable/auto_examples/filters/plot_nonlocal_means.html",
    program="denoise_nl_means of scikit-image",
    data="shipped by scikit-image",
    licence="public domain (NASA)",
    measure="peak signal-to-noise ratio, noise of .08 on astronaut",
    better="higher",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=lambda problem: ours(problem, noise_std=0.08),
)
