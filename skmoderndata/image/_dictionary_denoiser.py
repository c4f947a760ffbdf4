"""Image denoising by sparse codes of patches."""

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    CallbackSupportMixin,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import LARGEST
from skmoderndata._solvers.dictionaries.patches import (
    grid_of,
    noise_level,
)
from skmoderndata._solvers.dictionaries.similar_patches import (
    default_group_size,
    filter_groups,
)
from skmoderndata.image._base import (
    COMMON_CONSTRAINTS,
    average_codes,
    checked_image,
    image_tags,
    known_grid,
    learn_atoms,
    patch_size,
    signal_to_noise,
    starting_atoms,
)


class DictionaryDenoiser(CallbackSupportMixin, TransformerMixin, Base):
    r"""Remove white noise from an image by sparse codes of its overlapping patches.

    Every patch :math:`R_i x` of the image is coded with the fewest atoms that bring the residual
    below a bound set by the noise. Each pixel of the result is the average of all approximations
    at this pixel and of the noisy pixel y [1]_,

    .. math::
        \min_{x, D, a} \lambda \|x - y\|^2 + \sum_i \|R_i x - a_i D\|^2
        \quad\text{with the sparsest } a_i \text{ such that}\quad
        \|R_i y - a_i D\|^2 \le n\, c^2 \sigma^2,

    for patches of n values. K-SVD learns the dictionary D from the noisy patches, unless you pass
    one. Then similar patches of this image form groups, and each noisy patch is coded once more by
    the approximations of its group [5]_. All quantities are in the units of the image, and the
    result is not clipped.

    Parameters
    ----------
    noise_std : float, default=None
        Standard deviation of the noise. None estimates it from the regions of each image with the
        least texture [3]_, [4]_; the image needs at least 29 x 29 pixels for one channel.
    dictionary : {"learned", "cosines"} or array-like, default="learned"
        "learned" starts from overcomplete cosines and learns from patches of the image passed to
        `fit`; "cosines" keeps the cosines. An array contains atoms as rows of ``p * q`` numbers,
        or ``p * q * n_channels`` for colours, with the channel running fastest.
    n_components : int, default=256
        Number of atoms.
    patch_size : int or tuple of two int, default=8
        Height and width of a patch, which must fit into the image.
    gain : float, default=None
        Factor c of the bound. None uses the factor for which pure noise stays below the bound
        with probability 0.957: 1.15 for 64 numbers, as published.
    n_nonzero_coefs : int, default=None
        Largest number of atoms in the code of a patch; None means half the number of values of a
        patch.
    noisy_weight : float, default=None
        Weight :math:`\lambda` of the noisy pixel, relative to the weight 1 of each patch. None
        uses ``30 / 255 * (max - min) / noise_std``, with the extremes of the image.
    group_size : int, default=None
        Number of similar patches that are filtered together after the sparse codes. None uses half
        the number of values of a patch, but no more than 64. Smaller groups also use the filter
        computed from that many patches, and put back only the nearest. 1 skips this step.
    max_iter : int, default=10
        Number of passes of K-SVD.
    max_patches : int, default=40000
        Largest number of training patches, drawn from the patches that need an atom.
    n_jobs : int, default=None
        Number of threads, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the patches and the order of the updates. Pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_values)
        The atoms, of unit norm.
    noise_std_ : float
        Standard deviation of the noise, given or estimated from the image in `fit`.
    objective_ : float
        Squared error of the training patches after the last pass; NaN if no dictionary was
        learned.
    objective_history_ : ndarray of shape (n_iter_,)
        Squared error after each pass.
    n_iter_ : int
        Number of passes; 0 if no dictionary was learned.

    See Also
    --------
    sklearn.decomposition.MiniBatchDictionaryLearning : Learns atoms of patches with an l1 penalty;
        scikit-learn's gallery builds a denoiser from it by hand.
    DictionaryInpainter : For missing pixels.
    skmoderndata.decomposition.KSVD : Learns dictionaries of any signals.

    Notes
    -----
    `X` is an image of shape (height, width) or (height, width, n_channels), with any range of
    values; all channels of a patch are coded together. The mean of each channel of a patch is
    subtracted before coding and added afterwards. Published programs for colour images change the
    inner product to preserve the means [2]_; here they are preserved exactly.

    Groups are searched in the coded image, up to 15 pixels away, around patches half a patch
    apart. If P holds the approximations of its k members minus their mean, a noisy patch gets the
    code ``argmin_a |y - m - a P|^2 + k noise_std^2 |a|^2`` about the mean m of the group: the
    Wiener filter of non-local Bayes [5]_. Here m is the mean of the approximations, plus the part
    of its difference from the mean of the noisy members that noise does not explain. Groups
    overlap, and their filtered patches are averaged.

    Patches are processed in bands of rows, so memory holds the image, the training patches and a
    few megabytes, not one copy of each pixel for every patch that contains it.

    An image is returned unchanged if `noise_std` or its estimate is 0. If the noise is not white,
    or its standard deviation varies, whiten the image first. A denoised image contains less noise
    than `noise_std`, so denoising it again with the same value blurs it.

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
    .. [5] Lebrun, Buades and Morel, A nonlocal Bayesian image denoising algorithm, SIAM Journal
       on Imaging Sciences 6, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.image import DictionaryDenoiser
    >>> rng = np.random.default_rng(0)
    >>> rows, columns = np.mgrid[0:64, 0:64]
    >>> clean = 128 + 80 * np.sign(np.sin(rows / 5) * np.cos(columns / 7))
    >>> noisy = clean + 20 * rng.normal(size=clean.shape)
    >>> denoised = DictionaryDenoiser(20, random_state=0).fit_transform(noisy)
    >>> round(float(np.std(noisy - clean)), 1), round(float(np.std(denoised - clean)), 1)  # errors
    (20.0, 4.3)
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=(
            "elad2006image",
            "mairal2008color",
            "chen2015noise",
            "liu2013noise",
            "lebrun2013nonlocal",
        ),
        cost="T n (p k + s^2 k)",
        samples="image",
    )
    _parameter_constraints = {
        **COMMON_CONSTRAINTS,
        "noisy_weight": [NON_NEGATIVE, None],
        "group_size": [AT_LEAST_ONE, None],
    }

    @parameters_are_named
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
        group_size=None,
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
        self.group_size = group_size
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
            Not used, present by convention.

        Returns
        -------
        self : DictionaryDenoiser
            The fitted estimator.
        """
        image = checked_image(self, X)
        grid = grid_of(image, patch_size(self))
        atoms = starting_atoms(self, grid)
        sigma = self._noise(image)
        self.noise_std_ = sigma if self.noise_std is None else float(self.noise_std)
        with FitProgress(self, X, y, max_passes=self.max_iter) as progress:
            learn_atoms(self, image, None, grid, atoms, sigma, progress)
        return self

    @by_rows
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
        image = checked_image(self, X)
        grid = known_grid(self, image)
        sigma = self._noise(image)
        if sigma == 0:
            return image.reshape(np.shape(X))

        # Average the overlapping approximations and the noisy image, which has the weight `noisy`
        total, weight = average_codes(self, image, None, grid, sigma)
        noisy = self.noisy_weight
        if noisy is None:
            noisy = 30 / 255 * (float(image.max()) - float(image.min())) / sigma
        out = (total + noisy * image) / (weight + noisy)

        # Filter similar patches together, after finding them in an image without most of the noise
        size = self.group_size or default_group_size(grid)
        out = filter_groups(image, out, grid, sigma=sigma, group_size=size, n_jobs=self.n_jobs)
        return out.astype(image.dtype, copy=False).reshape(np.shape(X))

    @in_memory
    def score(self, X, y):
        """Compute the peak signal-to-noise ratio of the denoised image, in decibels.

        Parameters
        ----------
        X : array-like of shape (height, width) or (height, width, n_channels)
            Noisy image.
        y : array-like of the shape of X
            The image without noise; its range is the peak.

        Returns
        -------
        score : float
            ``10 log10(range^2 / mean squared error)``.
        """
        return signal_to_noise(self, self.transform(X), y, None)

    def _noise(self, image):
        """Return the standard deviation of the noise."""
        if self.noise_std is None:
            return float(noise_level(image))
        return min(float(self.noise_std), LARGEST)

    def __sklearn_tags__(self):
        return image_tags(super().__sklearn_tags__(), allow_nan=False)
