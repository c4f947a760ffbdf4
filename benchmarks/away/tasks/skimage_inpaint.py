"""A photograph with holes and scratches."""

import numpy as np

from benchmarks.away.task import Task
from skmoderndata.image import DictionaryInpainter


def load():
    """Return a quarter of the grey photograph, and masks as in the example at that size."""
    from skimage import data, img_as_float
    from skimage.color import rgb2gray

    clean = rgb2gray(img_as_float(data.astronaut()))[::4, ::4]
    missing = np.zeros(clean.shape, bool)
    missing[5:15, 5:8] = True
    missing[40:45, 90:100] = True
    missing[::8, 30:100] = True
    missing |= np.random.default_rng(0).uniform(size=clean.shape) < 0.02
    return clean, missing


def decibels(image, problem):
    clean, missing = problem
    return -10 * np.log10(np.mean((image - clean)[missing] ** 2))


def theirs(problem):
    from skimage.restoration import inpaint_biharmonic

    clean, missing = problem
    return decibels(inpaint_biharmonic(np.where(missing, 0, clean), missing), problem)


def ours(problem, **settings):
    clean, missing = problem
    model = DictionaryInpainter(random_state=0, **settings)
    return decibels(model.fit_transform(np.where(missing, np.nan, clean)), problem)


TASK = Task(
    name="skimage_inpaint",
    origin="scikit-image, gallery",
    link="https://scikit-image.org/docs/stable/auto_examples/filters/plot_inpaint.html",
    program="inpaint_biharmonic of scikit-image",
    data="shipped by scikit-image",
    licence="public domain (NASA)",
    measure="peak signal-to-noise ratio inside masks of astronaut",
    better="higher",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
)
