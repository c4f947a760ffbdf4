"""A photograph with missing pixels."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_sample_image

from benchmarks.compare.home import Case, Home
from skmoderndata.image import DictionaryInpainter


def make(seed, missing=0.5, side=64, photograph="flower.jpg"):
    """A part of a photograph, in grey, without its margins; pixels are missing at random."""
    rng = np.random.default_rng(seed)
    grey = load_sample_image(photograph).mean(axis=2)
    top = rng.integers(60, 360 - side)
    left = rng.integers(100, 540 - side)
    clean = grey[top : top + side, left : left + side]
    return Case(
        inputs=SimpleNamespace(
            image=np.where(rng.uniform(size=clean.shape) < missing, np.nan, clean)
        ),
        truth=clean,
        about=f"{side} x {side} pixels of a photograph of a flower, {missing:.0%} missing",
    )


def ours(inputs):
    return DictionaryInpainter(random_state=0).fit_transform(inputs.image)


def score(case, image):
    return 10 * np.log10(255**2 / np.mean((image - case.truth) ** 2))


def draw(fig, case, answers):
    panels = {"seen": case.inputs.image, **answers, "whole": case.truth}
    axes = fig.subplots(1, len(panels))
    for ax, (name, image) in zip(axes, panels.items(), strict=True):
        ax.imshow(image, cmap="gray", vmin=0, vmax=255)
        ax.set_title(name, fontsize=8)
        ax.set_axis_off()


HOME = Home(
    when="pixels are missing in a picture with smooth parts and edges",
    title="a photograph with missing pixels",
    kind="signals and images",
    generated=False,
    make=make,
    ours=ours,
    score=score,
    score_name="PSNR in decibels",
    margin=0.1,
    first_seed=400,
    n_rounds=24,
    gain="Fills the photograph in with a PSNR of {ours:.1f} dB; {name} reaches {rival:.1f} "
    "dB.",
    lines="DictionaryInpainter().fit_transform(image)",
    levels={"missing": (0.2, 0.7, 0.85), "side": (128,), "photograph": ("china.jpg",)},
    full_only=True,
    draw=draw,
)
