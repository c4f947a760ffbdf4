"""A photograph of a building, with noise."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_sample_image

from benchmarks.compare.home import Case, Home
from skmoderndata.image import DictionaryDenoiser


def make(seed, sigma=25.0, side=96):
    """A part of a temple: roofs, columns and walls, in grey, with noise of known size."""
    rng = np.random.default_rng(seed)
    grey = load_sample_image("china.jpg").mean(axis=2)
    top = rng.integers(120, 340 - side)
    left = rng.integers(60, 340 - side)
    clean = grey[top : top + side, left : left + side]
    return Case(
        inputs=SimpleNamespace(
            noisy=clean + sigma * rng.normal(size=clean.shape), noise_std=sigma
        ),
        truth=clean,
        about=f"{side} x {side} pixels of a temple, with noise of standard deviation "
        f"{sigma:g} of 255",
    )


def make_sky(seed):
    """A part of the sky above the temple, with noise."""
    rng = np.random.default_rng(seed)
    grey = load_sample_image("china.jpg").mean(axis=2)
    left = rng.integers(300, grey.shape[1] - 96)
    clean = grey[:96, left : left + 96]
    return Case(
        inputs=SimpleNamespace(
            noisy=clean + 25 * rng.normal(size=clean.shape), noise_std=25.0
        ),
        truth=clean,
        about="96 x 96 pixels of sky, with noise of standard deviation 25 of 255",
    )


def ours(inputs):
    model = DictionaryDenoiser(noise_std=inputs.noise_std, random_state=0)
    return model.fit_transform(inputs.noisy)


def score(case, image):
    return 10 * np.log10(255**2 / np.mean((image - case.truth) ** 2))


def draw(fig, case, answers):
    panels = {"with noise": case.inputs.noisy, **answers, "without": case.truth}
    axes = fig.subplots(1, len(panels))
    for ax, (name, image) in zip(axes, panels.items(), strict=True):
        ax.imshow(image, cmap="gray", vmin=0, vmax=255)
        ax.set_title(f"{name}\n{score(case, image + 1e-9):.1f} dB", fontsize=8)
        ax.set_axis_off()


COMMON = {
    "kind": "signals and images",
    "generated": False,
    "ours": ours,
    "score": score,
    "score_name": "PSNR in decibels",
    "margin": 0.1,
    "lines": "DictionaryDenoiser().fit_transform(noisy)",
    "full_only": True,
}
HOME = Home(
    when="a noisy picture has details that repeat, as in a building",
    title="a noisy photograph of a building",
    make=make,
    n_rounds=6,
    gain="Restores the photograph to a PSNR of {ours:.1f} dB; {name} reaches {rival:.1f} dB.",
    levels={"sigma": (10.0, 50.0), "side": (64, 128)},
    draw=draw,
    **COMMON,
)
AWAY = Home(
    when="a noisy picture is smooth everywhere, like a sky",
    title="a noisy sky",
    make=make_sky,
    n_rounds=6,
    gain="DictionaryDenoiser restores the sky to a PSNR of {ours:.1f} dB; {name} reaches "
    "{rival:.1f} dB.",
    **COMMON,
)
