"""Base of denoising and inpainting by dictionaries of patches."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    StrOptions,
)
from skmoderndata._estimator.validation import FLOATS, check_array, check_magnitude
from skmoderndata._solvers.codes.greedy import orthogonal_matching_pursuit
from skmoderndata._solvers.codes.signal_blocks import prepare_atoms
from skmoderndata._solvers.common.arrays import working_memory
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.dictionaries.ksvd import Rules, learn_dictionary
from skmoderndata._solvers.dictionaries.patches import (
    BAND_BYTES,
    average_patches,
    error_gain,
    grid_of,
    patch_cosines,
    training_patches,
)

COMMON_CONSTRAINTS = {
    "noise_std": [NON_NEGATIVE, None],
    "dictionary": [StrOptions({"learned", "cosines"}), "array-like"],
    "n_components": [AT_LEAST_ONE],
    "patch_size": [AT_LEAST_ONE, tuple, list],
    "gain": [POSITIVE, None],
    "n_nonzero_coefs": [AT_LEAST_ONE, None],
    "max_iter": [AT_LEAST_ONE],
    "max_patches": [AT_LEAST_ONE],
    "n_jobs": N_JOBS,
    "random_state": ["random_state"],
}
# Number of patches between two updates of the atoms. Updating so often gains 0.1 to 0.2 dB
# compared with one update per pass, in the same time.
BATCH = 2048
# Noise level assumed in the first round of "em", as a multiple of the noise of the image. The
# level decreases to 1 in the last round.
START_NOISE = 3.0
# Noise level assumed while learning from patches with holes, and from filled patches, as multiples
# of the noise of the image.
LEARN_NOISE = 3.0
FILLED_NOISE = 2.0
# Minimum number of patches with holes per atom; from fewer patches, atoms learn the unknown pixels
# poorly.
PATCHES_PER_ATOM = 4


def image_tags(tags, allow_nan):
    # an image is not a table of samples
    tags.input_tags.two_d_array = False
    tags.input_tags.three_d_array = True
    tags.input_tags.allow_nan = allow_nan
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags


def checked_image(estimator, X, *, allow_nan=False):
    """Check an image and return it with an axis of channels."""
    name = type(estimator).__name__
    if np.ndim(X) not in (2, 3):
        raise ValueError(
            f"{name} accepts one image of shape (height, width) or (height, width, n_channels), "
            f"but X has shape {np.shape(X)}."
        )

    # If there is NaN, raise an error that names the remedy
    try:
        image = check_array(
            X,
            dtype=FLOATS,
            allow_nd=True,
            ensure_all_finite="allow-nan" if allow_nan else True,
            input_name="X",
        )
    except ValueError as error:
        if "NaN" in str(error) and not allow_nan:
            raise ValueError(
                f"{name}: X contains NaN. Use DictionaryInpainter to fill in missing pixels."
            ) from error
        raise

    if image.ndim == 3 and image.shape[2] == 0:
        raise ValueError(f"{name}: X has no channels: its shape is {np.shape(X)}.")

    check_magnitude(image, owner=name, fourth_powers=True)
    return image.reshape(*image.shape[:2], -1)


def patch_size(estimator):
    size = estimator.patch_size
    pair = (size, size) if isinstance(size, Integral) else tuple(size)
    if len(pair) != 2 or not all(isinstance(side, Integral) and side >= 1 for side in pair):
        raise ValueError(
            f"patch_size={size!r} of {type(estimator).__name__} must be a positive integer, or "
            "two of them, height and width."
        )
    return int(pair[0]), int(pair[1])


def starting_atoms(estimator, grid):
    """Return the initial atoms, or the atoms to keep."""
    if isinstance(estimator.dictionary, str):
        return patch_cosines(grid.p, grid.q, grid.channels, estimator.n_components)
    atoms = check_array(estimator.dictionary, dtype=np.float64, input_name="dictionary")
    if atoms.shape[1] != grid.size:
        raise ValueError(
            f"dictionary has atoms of {atoms.shape[1]} numbers, but patches of "
            f"{grid.p} x {grid.q} pixels in {grid.channels} channels have {grid.size}: set "
            "patch_size to the size of the atoms."
        )
    return prepare_atoms(atoms, gram=False).rows


def known_grid(estimator, image):
    """Return the grid of an image with patches as in `fit`."""
    grid = grid_of(image, patch_size(estimator))
    values = estimator.components_.shape[1]
    if grid.size != values:
        raise ValueError(
            f"X of shape {image.shape} has patches of {grid.size} numbers, but "
            f"{type(estimator).__name__} was fitted with patches of {values}: images need as many "
            "channels as in fit, and no side shorter than a patch."
        )
    return grid


def code_patches(estimator, patches, observed, atoms, sigma):
    """Code patches up to the bound set by the noise."""
    n = patches.shape[1]
    gain = estimator.gain or error_gain(n)
    count = np.full(len(patches), n) if observed is None else observed.sum(axis=1)
    return orthogonal_matching_pursuit(
        patches,
        atoms,
        n_nonzero=estimator.n_nonzero_coefs or max(1, n // 2),
        tol_sq=(gain * sigma) ** 2 * count,
        mask=observed,
        n_jobs=estimator.n_jobs,
    )


def average_codes(estimator, image, observed, grid, sigma):
    """Return the sums of the approximations of all patches and of their weights."""
    atoms = estimator.components_.astype(np.float64, copy=False)
    ready = prepare_atoms(atoms)
    with one_blas_thread():  # blocks are so small that more threads would wait for each other
        return average_patches(
            image,
            observed,
            grid,
            atoms,
            lambda patches, seen: code_patches(estimator, patches, seen, ready, sigma),
            max_bytes=min(BAND_BYTES, working_memory()),
        )


def learn_atoms(estimator, image, observed, grid, atoms, sigma, progress):
    """Learn atoms from patches of an image."""
    learned = isinstance(estimator.dictionary, str) and estimator.dictionary == "learned"
    estimator.objective_ = np.nan
    estimator.objective_history_ = np.zeros(0)
    estimator.n_iter_ = 0
    estimator.components_ = atoms.astype(image.dtype, copy=False)
    if not learned or sigma == 0:
        return

    rng = check_random_state(estimator.random_state)
    # Select patches with more energy than the noise
    gain = estimator.gain or error_gain(grid.size)
    patches, seen = training_patches(
        image,
        observed,
        grid,
        max_patches=estimator.max_patches,
        rng=rng,
        min_known=getattr(estimator, "min_known", 0.0),
        above=(gain * sigma) ** 2,
    )

    # if no patch has more energy than the noise, the mean of each patch is enough
    if len(patches) == 0:
        return

    # Keep the atoms if the holes leave too few patches from which to learn
    if seen is not None and len(patches) < PATCHES_PER_ATOM * len(atoms):
        return

    with one_blas_thread():
        result = learn_dictionary(
            patches,
            atoms,
            lambda ready, rows: code_patches(
                estimator, patches[rows], None if seen is None else seen[rows], ready, sigma
            ),
            observed=seen,
            # Do not replace atoms by patches with holes, which would make poor atoms
            rules=Rules(batch_size=BATCH, replace_until=1.0 if seen is None else 0.0),
            max_iter=estimator.max_iter,
            rng=rng,
            progress=progress,
        )

    estimator.components_ = fix_signs(result.atoms).astype(image.dtype, copy=False)
    estimator.objective_ = float(result.objective[-1])
    estimator.objective_history_ = result.objective
    estimator.n_iter_ = result.n_iter


def signal_to_noise(estimator, image, y, where):
    """Return the peak signal-to-noise ratio; the peak is the range of y."""
    truth = check_array(y, dtype=np.float64, allow_nd=True, input_name="y")
    if truth.shape != image.shape:
        raise ValueError(
            f"y has shape {truth.shape}, but X has shape {image.shape}: "
            f"{type(estimator).__name__}.score compares two images of equal shape."
        )

    # Compute the squared errors of the selected cells only
    error = (truth - image.astype(np.float64)) ** 2
    if where is not None:
        error = error[where]

    peak = np.ptp(truth)
    mean = float(error.mean()) if error.size else 0.0
    if mean == 0:
        return np.inf
    return float(10 * np.log10(max(peak, np.finfo(float).tiny) ** 2 / mean))
