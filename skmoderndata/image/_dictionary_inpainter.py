"""Image inpainting by sparse codes of the known pixels of patches."""

from numbers import Real

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import LARGEST
from skmoderndata._solvers.dictionaries.patches import fill_by_means, grid_of
from skmoderndata._solvers.dictionaries.similar_patches import (
    default_group_size,
    filter_groups,
)
from skmoderndata.image._base import (
    COMMON_CONSTRAINTS,
    FILLED_NOISE,
    LEARN_NOISE,
    START_NOISE,
    average_codes,
    checked_image,
    image_tags,
    known_grid,
    learn_atoms,
    patch_size,
    signal_to_noise,
    starting_atoms,
)

# Number of rounds of group filtering, and the noise levels of the first and the last round, in
# units of the noise. Group filtering gains 0.4 to 1.2 dB. With five rounds, 0.1 dB are lost; with
# twenty, nothing more is gained.
GROUP_ROUNDS = 10
FIRST_GROUP_NOISE = 5.0
LAST_GROUP_NOISE = 0.7


class DictionaryInpainter(CallbackSupportMixin, TransformerMixin, Base):
    r"""Fill in missing pixels of an image by sparse codes of its overlapping patches.

    Every patch is coded by its known pixels (the mask :math:`M_i`), and overlapping approximations
    are averaged, weighted by the known fraction of their patch,

    .. math::
        \min_{a_i} \|a_i\|_0 \quad\text{with}\quad
        \|M_i (R_i y - a_i D)\|^2 \le c^2 \sigma^2\, |M_i|.

    Expectation maximisation ("em") first fills the image in this way, and then alternates between
    coding it as a complete image and filling it again, with a decreasing bound [1]_, [2]_.
    Finally, groups of similar patches are filtered together, and the image is filled from them, as
    in :class:`DictionaryDenoiser` [3]_.

    Parameters
    ----------
    algorithm : {"em", "masked"}, default="em"
        "masked" codes the known pixels once. "em" continues from there: it takes longer, and is
        about half to one decibel better on textured images, but worse on smooth ones.
    noise_std : float, default=None
        Positive standard deviation of the noise of the known pixels, which bounds the error of
        the codes. None uses a fiftieth of their range, which is 5 for a range of 255.
    dictionary : {"learned", "cosines"} or array-like, default="learned"
        "learned" starts from overcomplete cosines and learns from the image passed to `fit`;
        "cosines" keeps the cosines. An array contains atoms as rows of ``p * q`` numbers, or
        ``p * q * n_channels`` for colours, with the channel running fastest.
    n_components : int, default=256
        Number of atoms.
    patch_size : int or tuple of two int, default=8
        Height and width of a patch, which must fit into the image. Holes should be smaller.
    gain : float, default=None
        Factor c of the bound. None uses the factor for which pure noise stays below the bound
        with probability 0.957: 1.15 for 64 numbers.
    n_nonzero_coefs : int, default=None
        Largest number of atoms in the code of a patch; None means half the number of values of a
        patch.
    group_size : int, default=None
        Number of patches in a group of similar patches; 1 skips the groups. None means half the
        number of values of a patch, but no more than 64.
    keep_known : bool, default=True
        Whether to return known pixels unchanged; False denoises them, too.
    max_iter : int, default=10
        Number of passes of K-SVD.
    n_rounds : int, default=20
        Number of rounds of "em".
    max_patches : int, default=20000
        Largest number of training patches.
    min_known : float, default=0.3
        Minimum known fraction of a training patch, with ``algorithm="masked"``.
    n_jobs : int, default=None
        Number of threads, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the patches and the order of the updates. Pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_values)
        The atoms, of unit norm.
    noise_std_ : float
        Standard deviation of the noise, given or computed from the range of the image in `fit`.
    objective_ : float
        Squared error of the known pixels of training patches after the last pass; NaN if no
        dictionary was learned.
    objective_history_ : ndarray of shape (n_iter_,)
        Squared error after each pass.
    n_iter_ : int
        Number of passes; 0 if no dictionary was learned.

    See Also
    --------
    sklearn.impute.IterativeImputer : For missing entries of a table.
    DictionaryDenoiser : For noise.
    skmoderndata.impute.NuclearNormImputer : For an image that is nearly of low rank.

    Notes
    -----
    `X` is an image of shape (height, width) or (height, width, n_channels), with any range of
    values, and NaN for missing pixels or for single missing channels of a pixel.

    "masked" learns from patches in which at least the fraction `min_known` is known, with a bound
    for three times the noise, because few pixels determine weak structure poorly. It keeps the
    cosines if there are fewer than four such patches for each atom. "em" first fills the image
    with cosines and learns from the result, with a bound for twice the noise. Its rounds lower the
    bound from three times the noise to the noise: with a small bound from the start it would
    reproduce its own filling. `transform` also uses groups, in ten rounds for 5 to 0.7 times the
    noise.

    If no patch around a pixel has known pixels, as in holes larger than twice a patch, the pixel
    gets the mean of the known pixels in the smallest box around it; "em" continues structure into
    such holes by at most one patch per round. Nothing is clipped. A channel without known pixels
    raises ValueError.

    References
    ----------
    .. [1] Mairal, Elad and Sapiro, Sparse representation for color image restoration, IEEE
       Transactions on Image Processing 17(1), 2008.
    .. [2] Fadili, Starck and Murtagh, Inpainting and zooming using sparse representations, The
       Computer Journal 52(1), 2009.
    .. [3] Lebrun, Buades and Morel, A nonlocal Bayesian image denoising algorithm, SIAM Journal on
       Imaging Sciences 6(3), 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.image import DictionaryInpainter
    >>> rng = np.random.default_rng(0)
    >>> rows, columns = np.mgrid[0:48, 0:48]
    >>> whole = 128 + 80 * np.sin(rows / 3) * np.cos(columns / 4)
    >>> seen = np.where(rng.uniform(size=whole.shape) < 0.5, whole, np.nan)
    >>> filled = DictionaryInpainter(random_state=0).fit_transform(seen)
    >>> error = filled - whole
    >>> round(float(np.std(error)), 1), round(float(np.std(whole)), 1)
    (0.1, 39.0)
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=("mairal2008color", "fadili2009inpainting"),
        cost="T n (p k + s^2 k)",
        samples="image",
    )
    _parameter_constraints = {
        **COMMON_CONSTRAINTS,
        "noise_std": [POSITIVE, None],
        "algorithm": [StrOptions({"em", "masked"})],
        "group_size": [AT_LEAST_ONE, None],
        "keep_known": ["boolean"],
        "n_rounds": [AT_LEAST_ONE],
        "min_known": [Interval(Real, 0, 1, closed="both")],
    }

    @parameters_are_named
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
        group_size=None,
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
        self.group_size = group_size
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
            Not used, present by convention.

        Returns
        -------
        self : DictionaryInpainter
            The fitted estimator.
        """
        image, observed = self._parts(X)
        grid = grid_of(image, patch_size(self))
        atoms = starting_atoms(self, grid)
        sigma = self._noise(image, observed)
        self.noise_std_ = sigma if self.noise_std is None else float(self.noise_std)

        # With "em", learn from an image that has been filled in once and has its own noise level
        learn = isinstance(self.dictionary, str) and self.dictionary == "learned"
        factor = LEARN_NOISE
        if self.algorithm == "em" and observed is not None and learn:
            self.components_ = atoms
            image = self._fill(image, observed, grid, sigma)[0]
            observed = None
            factor = FILLED_NOISE

        with FitProgress(self, X, y, max_passes=self.max_iter) as progress:
            learn_atoms(self, image, observed, grid, atoms, factor * sigma, progress)
        return self

    @by_rows
    def transform(self, X):
        """Fill in the missing pixels of an image.

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
        image, observed = self._parts(X)
        grid = known_grid(self, image)
        sigma = self._noise(image, observed)
        filled = image
        average = None
        if observed is not None:
            filled, average = self._fill(image, observed, grid, sigma)
            filled = self._fill_by_groups(filled, observed, grid, sigma)

        # Denoise the known pixels, too
        if not self.keep_known and sigma > 0:
            if average is None:
                total, weight = average_codes(self, image, None, grid, sigma)
                average = total / weight
            filled = self._filter(filled, average, grid, sigma)
        return filled.astype(image.dtype, copy=False).reshape(np.shape(X))

    @in_memory
    def score(self, X, y):
        """Compute the peak signal-to-noise ratio of the filled pixels, in decibels.

        Parameters
        ----------
        X : array-like of shape (height, width) or (height, width, n_channels)
            Image with NaN for missing pixels.
        y : array-like of the shape of X
            The complete image; its range is the peak.

        Returns
        -------
        score : float
            ``10 log10(range^2 / mean squared error)`` over the missing pixels.
        """
        missing = np.isnan(np.asarray(X, dtype=np.float64))
        return signal_to_noise(self, self.transform(X), y, missing)

    def _parts(self, X):
        """Return the image with 0 for missing pixels, and the mask of known pixels or None."""
        image = checked_image(self, X, allow_nan=True)
        observed = ~np.isnan(image)
        if observed.all():
            return image, None
        unknown = ~observed.any(axis=(0, 1))
        if unknown.any():
            channel = "" if image.shape[2] == 1 else f" of channel {int(np.argmax(unknown))}"
            raise ValueError(f"{type(self).__name__}: no pixel{channel} of X is known.")
        return np.where(observed, image, image.dtype.type(0)), observed

    def _noise(self, image, observed):
        """Return the standard deviation of the noise."""
        if self.noise_std is not None:
            return min(float(self.noise_std), LARGEST)
        values = image if observed is None else image[observed]
        return (float(values.max()) - float(values.min())) / 50

    def _fill(self, image, observed, grid, sigma):
        """Return the image with its missing pixels filled, and the average of all patches."""
        total, weight = average_codes(self, image, observed, grid, sigma)

        # Fill pixels that no patch reaches with the mean of the known pixels around them
        rough = fill_by_means(image, observed)
        average = np.divide(total, weight, out=rough, where=weight > 0)
        filled = np.where(observed, image, average)

        # With "em", code the filled image with a noise level that decreases to the noise of the
        # image
        if self.algorithm == "em":
            for level in np.geomspace(START_NOISE, 1.0, self.n_rounds):
                total, weight = average_codes(self, filled, None, grid, level * sigma)
                average = total / weight
                filled = np.where(observed, image, average)
        return filled, average

    def _fill_by_groups(self, image, observed, grid, sigma):
        """Fill missing pixels from groups of similar patches, with decreasing noise levels."""
        filled = image
        for level in np.geomspace(FIRST_GROUP_NOISE, LAST_GROUP_NOISE, GROUP_ROUNDS):
            average = self._filter(filled, filled, grid, level * sigma)
            filled = np.where(observed, image, average)
        return filled

    def _filter(self, image, approximation, grid, sigma):
        """Filter groups of patches that are similar in the approximation."""
        size = self.group_size or default_group_size(grid)
        return filter_groups(
            image, approximation, grid, sigma=sigma, group_size=size, n_jobs=self.n_jobs
        )

    def __sklearn_tags__(self):
        return image_tags(super().__sklearn_tags__(), allow_nan=True)
