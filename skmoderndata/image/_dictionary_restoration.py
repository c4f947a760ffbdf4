"""Images without noise, and with their missing pixels, by sparse codes of their patches."""

from numbers import Integral, Real

import numpy as np
from sklearn import get_config
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._base import Base, FitProgress
from skmoderndata._compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._registry import MethodCard
from skmoderndata._solvers.codes.greedy import orthogonal_matching_pursuit
from skmoderndata._solvers.codes.signal_blocks import prepare_atoms
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.dictionaries.ksvd import Rules, learn_dictionary
from skmoderndata._solvers.dictionaries.patches import (
    BAND_BYTES,
    average_patches,
    error_gain,
    fill_by_means,
    grid_of,
    noise_level,
    patch_cosines,
    training_patches,
)
from skmoderndata._validation import check_array, check_fourth_powers

COMMON_CONSTRAINTS = {
    "noise_std": [NON_NEGATIVE, None],
    "dictionary": [StrOptions({"learned", "cosines"}), "array-like"],
    "n_components": [AT_LEAST_ONE],
    "patch_size": [AT_LEAST_ONE, tuple, list],
    "gain": [POSITIVE, None],
    "n_nonzero_coefs": [AT_LEAST_ONE, None],
    "max_iter": [AT_LEAST_ONE],
    "max_patches": [AT_LEAST_ONE],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}
HUGE = 1e100  # of a standard deviation: all is noise
BATCH = 2048  # patches between updates: 0.1 to 0.2 dB better than an update a pass, as fast
START_NOISE, LEARN_NOISE, FILLED_NOISE = 3.0, 3.0, 2.0  # in units of the noise: see the Notes
PATCHES_PER_ATOM = 4  # with holes; from fewer the atoms learn what is between known pixels badly


class DictionaryDenoiser(CallbackSupportMixin, TransformerMixin, Base):
    r"""Images without white noise, by sparse codes of their overlapping patches.

    Every patch :math:`R_i x` of the image is coded with as few atoms as bring the residual below
    what the noise explains, and the image is the average of all approximations at each pixel and
    of the noisy pixel y [1]_,

    .. math::
        \min_{x, D, a} \lambda \|x - y\|^2 + \sum_i \|R_i x - a_i D\|^2
        \quad\text{with the sparsest } a_i \text{ such that}\quad
        \|R_i y - a_i D\|^2 \le n\, c^2 \sigma^2,

    for patches of n numbers. The dictionary D is learned from the noisy patches themselves by
    K-SVD, or given. All is in the units of the image; nothing is clipped.

    Parameters
    ----------
    noise_std : float, default=None
        Standard deviation of the noise. None estimates it from the parts of each image that hold
        least texture [3]_, [4]_, of at least 29 x 29 pixels for one channel.
    dictionary : {"learned", "cosines"} or array-like, default="learned"
        "learned" starts from over-complete cosines and learns from patches of the image given to
        `fit`; "cosines" keeps the start. Atoms may be given as rows of ``p * q`` numbers, and of
        ``p * q * n_channels`` for colours, the channel running fastest.
    n_components : int, default=256
        Number of atoms.
    patch_size : int or tuple of two int, default=8
        Height and width of a patch, at most those of the image.
    gain : float, default=None
        The factor c of the bound. None takes the one for which the noise alone is below the bound
        with probability 0.957; for 64 numbers 1.15, as published.
    n_nonzero_coefs : int, default=None
        Most atoms in the code of a patch; None takes half the numbers of a patch.
    noisy_weight : float, default=None
        The weight λ of the noisy pixel beside those of the patches, 1 each. None takes
        ``30 / 255 * (max - min) / noise_std`` with the extremes of the image.
    max_iter : int, default=10
        Passes of K-SVD.
    max_patches : int, default=40000
        Most patches to learn from, drawn among those that need an atom.
    n_jobs : int, default=None
        Number of threads, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the patches and the order of the updates.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_values)
        The atoms, of unit norm.
    noise_std_ : float
        The noise, given or estimated from the image of `fit`.
    objective_ : float
        Squared error of the training patches after the last pass; NaN when nothing was learned.
    objective_history_ : ndarray of shape (n_iter_,)
        The same after each pass.
    n_iter_ : int
        Number of passes; 0 when nothing was learned.

    See Also
    --------
    sklearn.decomposition.MiniBatchDictionaryLearning : Learns atoms of patches with an l1 penalty;
        scikit-learn's gallery builds a denoiser from it by hand.
    DictionaryInpainter : For missing pixels.
    skmoderndata.decomposition.KSVD : The learner, for any signals.

    Notes
    -----
    `X` is an image of shape (height, width) or (height, width, n_channels), any range of values;
    all channels of a patch are coded together. The mean of each channel of a patch is taken away
    before it is coded and put back afterwards. Published programs for colours change the inner
    product so that means are kept [2]_; here they are kept exactly.

    Patches are taken in bands of rows: memory is the image, the training patches, and a few
    megabytes, not one copy of each pixel for every patch that holds it.

    An image with ``noise_std = 0``, also where the estimate is zero, is returned as it is. For
    noise that is not white, or not of one strength, whiten the image first. A denoised image holds
    less noise than ``noise_std``: denoising it again with the same value blurs it.

    References
    ----------
    .. [1] Elad and Aharon, Image denoising via sparse and redundant representations over learned
       dictionaries, IEEE Transactions on Image Processing 15(12), 2006.
    .. [2] Mairal, Elad and Sapiro, Sparse representation for color image restoration, IEEE
       Transactions on Image Processing 17(1), 2008.
    .. [3] Chen, Zhu and Heng, An efficient statistical method for image noise level estimation,
       ICCV 2015.
    .. [4] Liu, Tanaka and Okutomi, Single-image noise level estimation for blind denoising, IEEE
       Transactions on Image Processing 22(12), 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.image import DictionaryDenoiser
    >>> rng = np.random.default_rng(0)
    >>> rows, columns = np.mgrid[0:64, 0:64]
    >>> clean = 128 + 80 * np.sign(np.sin(rows / 5) * np.cos(columns / 7))
    >>> noisy = clean + 20 * rng.normal(size=clean.shape)
    >>> denoised = DictionaryDenoiser(20, random_state=0).fit_transform(noisy)
    >>> bool(np.std(denoised - clean) < 8)
    True
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=("elad2006image", "mairal2008color", "chen2015noise", "liu2013noise"),
        cost="T n (p k + s^2 k)",
        checks=({},),
    )
    _parameter_constraints = {**COMMON_CONSTRAINTS, "noisy_weight": [NON_NEGATIVE, None]}

    def __init__(
        self,
        noise_std=None,
        *,
        dictionary="learned",
        n_components=256,
        patch_size=8,
        gain=None,
        n_nonzero_coefs=None,
        noisy_weight=None,
        max_iter=10,
        max_patches=40_000,
        n_jobs=None,
        random_state=None,
    ):
        self.noise_std = noise_std
        self.dictionary = dictionary
        self.n_components = n_components
        self.patch_size = patch_size
        self.gain = gain
        self.n_nonzero_coefs = n_nonzero_coefs
        self.noisy_weight = noisy_weight
        self.max_iter = max_iter
        self.max_patches = max_patches
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Estimate the noise, and learn the dictionary.

        Parameters
        ----------
        X : array-like of shape (height, width) or (height, width, n_channels)
            Noisy image.
        y : Ignored
            Present by convention.

        Returns
        -------
        self : DictionaryDenoiser
            The fitted estimator.
        """
        image = _image(self, X)
        grid = grid_of(image, _patch_size(self))
        atoms = _start(self, grid)
        sigma = self._noise(image)
        self.noise_std_ = sigma if self.noise_std is None else float(self.noise_std)
        with FitProgress(self, X, y, max_passes=self.max_iter) as progress:
            _learn(self, image, None, grid, atoms, sigma, progress)
        return self

    def transform(self, X):
        """Denoise an image.

        Parameters
        ----------
        X : array-like of shape (height, width) or (height, width, n_channels)
            Noisy image, of any size.

        Returns
        -------
        denoised : ndarray of the shape of X
            The image without noise, in single precision if X is.
        """
        check_is_fitted(self)
        image = _image(self, X)
        grid = _known_grid(self, image)
        sigma = self._noise(image)
        if sigma == 0:
            return image.reshape(np.shape(X))
        total, weight = _average(self, image, None, grid, sigma)
        noisy = self.noisy_weight
        if noisy is None:
            noisy = 30 / 255 * (float(image.max()) - float(image.min())) / sigma
        out = (total + noisy * image) / (weight + noisy)
        return out.astype(image.dtype, copy=False).reshape(np.shape(X))

    def score(self, X, y):
        """Peak signal-to-noise ratio of the denoised image, in decibels.

        Parameters
        ----------
        X : array-like of shape (height, width) or (height, width, n_channels)
            Noisy image.
        y : array-like of the shape of X
            The image without noise; its range counts as the peak.

        Returns
        -------
        score : float
            ``10 log10(range^2 / mean squared error)``.
        """
        return _signal_to_noise(self, self.transform(X), y, None)

    def _noise(self, image):
        """Return the standard deviation of the noise."""
        if self.noise_std is None:
            return float(noise_level(image))
        return min(float(self.noise_std), HUGE)

    def __sklearn_tags__(self):
        return _image_tags(super().__sklearn_tags__(), allow_nan=False)


class DictionaryInpainter(CallbackSupportMixin, TransformerMixin, Base):
    r"""Images with missing pixels filled in, by sparse codes of their overlapping patches.

    Every patch is coded by what is known of it (the mask :math:`M_i`), and the approximations are
    averaged where they overlap, each with the share of its patch that is known as weight,

    .. math::
        \min_{a_i} \|a_i\|_0 \quad\text{with}\quad
        \|M_i (R_i y - a_i D)\|^2 \le c^2 \sigma^2\, |M_i|.

    By expectation maximisation ("em") the image is filled so first, and then in turn coded as if
    it were complete and filled again, with a bound that becomes smaller [1]_, [2]_.

    Parameters
    ----------
    algorithm : {"em", "masked"}, default="em"
        "masked" codes once what is known; "em" goes on from there, takes longer, and is some half
        to one decibel better on images with texture, but worse on smooth ones.
    noise_std : float, default=None
        Standard deviation of the noise of the known pixels, above 0: it bounds the error of the
        codes. None takes a fiftieth of their range, 5 of 255.
    dictionary : {"learned", "cosines"} or array-like, default="learned"
        "learned" starts from over-complete cosines and learns from the image given to `fit`;
        "cosines" keeps the start. Atoms may be given as rows of ``p * q`` numbers, and of
        ``p * q * n_channels`` for colours, the channel running fastest.
    n_components : int, default=256
        Number of atoms.
    patch_size : int or tuple of two int, default=8
        Height and width of a patch, at most those of the image. Holes should be smaller.
    gain : float, default=None
        The factor c of the bound. None takes the one for which the noise alone is below the bound
        with probability 0.957; for 64 numbers 1.15.
    n_nonzero_coefs : int, default=None
        Most atoms in the code of a patch; None takes half the numbers of a patch.
    keep_known : bool, default=True
        Return known pixels as they are; False denoises them as well.
    max_iter : int, default=10
        Passes of K-SVD.
    n_rounds : int, default=20
        Rounds of "em".
    max_patches : int, default=20000
        Most patches to learn from.
    min_known : float, default=0.3
        Share of a patch that must be known to learn from it, with ``algorithm="masked"``.
    n_jobs : int, default=None
        Number of threads, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the patches and the order of the updates.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_values)
        The atoms, of unit norm.
    noise_std_ : float
        The noise, given or taken from the range of the image of `fit`.
    objective_ : float
        Squared error of the training patches, on what is known, after the last pass; NaN when
        nothing was learned.
    objective_history_ : ndarray of shape (n_iter_,)
        The same after each pass.
    n_iter_ : int
        Number of passes; 0 when nothing was learned.

    See Also
    --------
    sklearn.impute.IterativeImputer : For missing entries of a table.
    DictionaryDenoiser : For noise.
    skmoderndata.impute.NuclearNormImputer : For an image that is nearly of low rank.

    Notes
    -----
    `X` is an image of shape (height, width) or (height, width, n_channels), any range of values,
    with NaN for missing pixels, or for single missing channels of a pixel.

    "masked" learns from patches of which at least `min_known` is known, with a bound for three
    times the noise, as few pixels say little about weak structure. It keeps the cosines where
    there are fewer than four such patches for each atom. "em" fills the image with cosines first
    and learns from that, with a bound for twice the noise. Its rounds go from a bound for three
    times the noise down to one for the noise: with a small bound from the start it would
    reproduce its own filling.

    Where no patch knows anything, in holes larger than twice a patch, pixels get the mean of the
    known ones in the smallest box about them; "em" carries structure into such holes, a patch a
    round at best. Nothing is clipped. A channel of which nothing is known is an error.

    References
    ----------
    .. [1] Mairal, Elad and Sapiro, Sparse representation for color image restoration, IEEE
       Transactions on Image Processing 17(1), 2008.
    .. [2] Fadili, Starck and Murtagh, Inpainting and zooming using sparse representations, The
       Computer Journal 52(1), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.image import DictionaryInpainter
    >>> rng = np.random.default_rng(0)
    >>> rows, columns = np.mgrid[0:48, 0:48]
    >>> whole = 128 + 80 * np.sin(rows / 3) * np.cos(columns / 4)
    >>> seen = np.where(rng.uniform(size=whole.shape) < 0.5, whole, np.nan)
    >>> filled = DictionaryInpainter(random_state=0).fit_transform(seen)
    >>> bool(np.abs(filled - whole).max() < 30 and np.std(filled - whole) < 3)
    True
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=("mairal2008color", "fadili2009inpainting"),
        cost="T n (p k + s^2 k)",
        checks=({},),
    )
    _parameter_constraints = {
        **COMMON_CONSTRAINTS,
        "noise_std": [POSITIVE, None],
        "algorithm": [StrOptions({"em", "masked"})],
        "keep_known": ["boolean"],
        "n_rounds": [AT_LEAST_ONE],
        "min_known": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        algorithm="em",
        *,
        noise_std=None,
        dictionary="learned",
        n_components=256,
        patch_size=8,
        gain=None,
        n_nonzero_coefs=None,
        keep_known=True,
        max_iter=10,
        n_rounds=20,
        max_patches=20_000,
        min_known=0.3,
        n_jobs=None,
        random_state=None,
    ):
        self.algorithm = algorithm
        self.noise_std = noise_std
        self.dictionary = dictionary
        self.n_components = n_components
        self.patch_size = patch_size
        self.gain = gain
        self.n_nonzero_coefs = n_nonzero_coefs
        self.keep_known = keep_known
        self.max_iter = max_iter
        self.n_rounds = n_rounds
        self.max_patches = max_patches
        self.min_known = min_known
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the dictionary.

        Parameters
        ----------
        X : array-like of shape (height, width) or (height, width, n_channels)
            Image with NaN for missing pixels.
        y : Ignored
            Present by convention.

        Returns
        -------
        self : DictionaryInpainter
            The fitted estimator.
        """
        image, known = self._parts(X)
        grid = grid_of(image, _patch_size(self))
        atoms = _start(self, grid)
        sigma = self._noise(image, known)
        self.noise_std_ = sigma if self.noise_std is None else float(self.noise_std)
        learn = isinstance(self.dictionary, str) and self.dictionary == "learned"
        factor = LEARN_NOISE
        if self.algorithm == "em" and known is not None and learn:
            self.components_ = atoms
            image, known = self._fill(image, known, grid, sigma)[0], None
            factor = FILLED_NOISE
        with FitProgress(self, X, y, max_passes=self.max_iter) as progress:
            _learn(self, image, known, grid, atoms, factor * sigma, progress)
        return self

    def transform(self, X):
        """Fill an image in.

        Parameters
        ----------
        X : array-like of shape (height, width) or (height, width, n_channels)
            Image with NaN for missing pixels, of any size.

        Returns
        -------
        filled : ndarray of the shape of X
            The image without missing pixels, in single precision if X is.
        """
        check_is_fitted(self)
        image, known = self._parts(X)
        grid = _known_grid(self, image)
        sigma = self._noise(image, known)
        filled, average = image, None
        if known is not None:
            filled, average = self._fill(image, known, grid, sigma)
        if not self.keep_known and sigma > 0:
            if average is None:
                total, weight = _average(self, image, None, grid, sigma)
                average = total / weight
            filled = average
        return filled.astype(image.dtype, copy=False).reshape(np.shape(X))

    def score(self, X, y):
        """Peak signal-to-noise ratio of what was filled in, in decibels.

        Parameters
        ----------
        X : array-like of shape (height, width) or (height, width, n_channels)
            Image with NaN for missing pixels.
        y : array-like of the shape of X
            The complete image; its range counts as the peak.

        Returns
        -------
        score : float
            ``10 log10(range^2 / mean squared error)`` over the missing pixels.
        """
        missing = np.isnan(np.asarray(X, dtype=np.float64))
        return _signal_to_noise(self, self.transform(X), y, missing)

    def _parts(self, X):
        """Image with 0 for what misses, and the mask of what is known where something misses."""
        image = _image(self, X, allow_nan=True)
        known = ~np.isnan(image)
        if known.all():
            return image, None
        nothing = ~known.any(axis=(0, 1))
        if nothing.any():
            what = "" if image.shape[2] == 1 else f" of channel {int(np.argmax(nothing))}"
            raise ValueError(f"{type(self).__name__}: no pixel{what} of X is known.")
        return np.where(known, image, image.dtype.type(0)), known

    def _noise(self, image, known):
        """Return the standard deviation of the noise."""
        if self.noise_std is not None:
            return min(float(self.noise_std), HUGE)
        values = image if known is None else image[known]
        return (float(values.max()) - float(values.min())) / 50

    def _fill(self, image, known, grid, sigma):
        """Return the image with its missing pixels filled, and the average of all patches."""
        total, weight = _average(self, image, known, grid, sigma)
        rough = fill_by_means(image, known)
        average = np.divide(total, weight, out=rough, where=weight > 0)
        filled = np.where(known, image, average)
        if self.algorithm == "em":
            for level in np.geomspace(START_NOISE, 1.0, self.n_rounds):
                total, weight = _average(self, filled, None, grid, level * sigma)
                average = total / weight
                filled = np.where(known, image, average)
        return filled, average

    def __sklearn_tags__(self):
        return _image_tags(super().__sklearn_tags__(), allow_nan=True)


def _image_tags(tags, allow_nan):
    tags.input_tags.two_d_array = False  # an image is no table of samples
    tags.input_tags.three_d_array = True
    tags.input_tags.allow_nan = allow_nan
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags


def _image(estimator, X, *, allow_nan=False):
    """Check an image and return it with an axis of channels."""
    name = type(estimator).__name__
    if np.ndim(X) not in (2, 3):
        raise ValueError(
            f"{name} takes one image of shape (height, width) or (height, width, n_channels), and "
            f"X has shape {np.shape(X)}."
        )
    try:
        image = check_array(
            X,
            dtype=[np.float64, np.float32],
            allow_nd=True,
            ensure_all_finite="allow-nan" if allow_nan else True,
            input_name="X",
        )
    except ValueError as error:
        if "NaN" in str(error) and not allow_nan:
            raise ValueError(
                f"{name}: X contains NaN. Missing pixels are filled in by DictionaryInpainter."
            ) from error
        raise
    if image.ndim == 3 and image.shape[2] == 0:
        raise ValueError(f"{name}: X has no channels, its shape is {np.shape(X)}.")
    check_fourth_powers(image, owner=name)
    return image.reshape(*image.shape[:2], -1)


def _patch_size(estimator):
    size = estimator.patch_size
    pair = (size, size) if isinstance(size, Integral) else tuple(size)
    if len(pair) != 2 or not all(isinstance(side, Integral) and side >= 1 for side in pair):
        raise ValueError(
            f"patch_size={size!r} of {type(estimator).__name__} must be a whole number or two, "
            "height and width, at least 1."
        )
    return int(pair[0]), int(pair[1])


def _start(estimator, grid):
    """Atoms that learning starts from, or that are kept."""
    if isinstance(estimator.dictionary, str):
        return patch_cosines(grid.p, grid.q, grid.channels, estimator.n_components)
    atoms = check_array(estimator.dictionary, dtype=np.float64, input_name="dictionary")
    if atoms.shape[1] != grid.size:
        raise ValueError(
            f"dictionary has atoms of {atoms.shape[1]} numbers, and patches of "
            f"{grid.p} x {grid.q} pixels in {grid.channels} channels have {grid.size}: set "
            "patch_size to the size of the atoms."
        )
    return prepare_atoms(atoms, gram=False).rows


def _known_grid(estimator, image):
    """Return the grid of an image like that of `fit`."""
    grid = grid_of(image, _patch_size(estimator))
    values = estimator.components_.shape[1]
    if grid.size != values:
        raise ValueError(
            f"X of shape {image.shape} has patches of {grid.size} numbers, and "
            f"{type(estimator).__name__} was fitted with patches of {values}: images need as many "
            "channels as the first, and no side shorter than a patch."
        )
    return grid


def _code(estimator, patches, known, atoms, sigma):
    """Code patches to the bound that the noise sets."""
    n = patches.shape[1]
    gain = estimator.gain or error_gain(n)
    count = np.full(len(patches), n) if known is None else known.sum(axis=1)
    return orthogonal_matching_pursuit(
        patches,
        atoms,
        n_nonzero=estimator.n_nonzero_coefs or max(1, n // 2),
        tol_sq=(gain * sigma) ** 2 * count,
        mask=known,
        single=patches.dtype == np.float32,
        n_jobs=estimator.n_jobs,
    )


def _average(estimator, image, known, grid, sigma):
    """Sum of the approximations of all patches, and of their weights."""
    atoms = estimator.components_.astype(np.float64, copy=False)
    ready = prepare_atoms(atoms)
    with one_blas_thread():  # blocks are small: more threads would wait for each other
        return average_patches(
            image,
            known,
            grid,
            atoms,
            lambda patches, seen: _code(estimator, patches, seen, ready, sigma),
            max_bytes=min(BAND_BYTES, get_config()["working_memory"] * 2**20),
        )


def _learn(estimator, image, known, grid, atoms, sigma, progress):
    """Learn atoms from patches of an image."""
    learned = isinstance(estimator.dictionary, str) and estimator.dictionary == "learned"
    estimator.objective_, estimator.objective_history_ = np.nan, np.zeros(0)
    estimator.n_iter_ = 0
    estimator.components_ = atoms.astype(image.dtype, copy=False)
    if not learned or sigma == 0:
        return
    rng = check_random_state(estimator.random_state)
    gain = estimator.gain or error_gain(grid.size)
    patches, seen = training_patches(
        image,
        known,
        grid,
        max_patches=estimator.max_patches,
        rng=rng,
        min_known=getattr(estimator, "min_known", 0.0),
        above=(gain * sigma) ** 2,
    )
    if len(patches) == 0:  # the mean is enough for every patch
        return
    if seen is not None and len(patches) < PATCHES_PER_ATOM * len(atoms):
        return
    with one_blas_thread():
        result = learn_dictionary(
            patches,
            atoms,
            lambda ready, rows: _code(
                estimator, patches[rows], None if seen is None else seen[rows], ready, sigma
            ),
            known=seen,
            # a patch with holes is no good atom
            rules=Rules(batch_size=BATCH, replace_until=1.0 if seen is None else 0.0),
            max_iter=estimator.max_iter,
            rng=rng,
            progress=progress,
        )
    estimator.components_ = fix_signs(result.atoms).astype(image.dtype, copy=False)
    estimator.objective_ = float(result.objective[-1])
    estimator.objective_history_ = result.objective
    estimator.n_iter_ = result.n_iter


def _signal_to_noise(estimator, image, y, where):
    """Peak signal-to-noise ratio, the range of y being the peak."""
    truth = check_array(y, dtype=np.float64, allow_nd=True, input_name="y")
    if truth.shape != image.shape:
        raise ValueError(
            f"y of shape {truth.shape} is not of the shape of X, {image.shape}: "
            f"{type(estimator).__name__}.score compares two images."
        )
    error = (truth - image.astype(np.float64)) ** 2
    if where is not None:
        error = error[where]
    peak = np.ptp(truth)
    mean = float(error.mean()) if error.size else 0.0
    if mean == 0:
        return np.inf
    return float(10 * np.log10(max(peak, np.finfo(float).tiny) ** 2 / mean))
