"""Inner products from distances."""

from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata.preprocessing._base import FAMILY, PAGE, KernelMatrixStep


class DoubleCenterer(KernelMatrixStep):
    r"""Convert distances to inner products, ``-1/2 J D^2 J`` with ``J = I - 1 1' / n``.

    Parameters
    ----------
    squared : bool, default=False
        Whether entries are already squared distances.

    Attributes
    ----------
    means_ : ndarray of shape (n_train,)
        Means of the squared distances to each training sample.
    n_features_in_ : int
        Number of training samples.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if the matrix has names that are all strings.

    See Also
    --------
    sklearn.manifold.MDS : Computes coordinates from distances by minimising stress.
    SpectrumCorrector : Corrects matrices of distances that are not Euclidean.

    Notes
    -----
    For Euclidean distances, the result is the Gram matrix of the centred points, including new
    points. The result is positive semi-definite if and only if the distances are Euclidean. Some
    texts omit that distances must be squared.

    References
    ----------
    .. [1] Torgerson, Multidimensional scaling: I. Theory and method, Psychometrika 17, 1952.

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from skmoderndata.preprocessing import DoubleCenterer
    >>> points = [[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]]
    >>> DoubleCenterer().fit_transform(pairwise_distances(points)).round(3)
    array([[ 2.778, -0.222, -2.556],
           [-0.222,  5.778, -5.556],
           [-2.556, -5.556,  8.111]])
    """

    _card = MethodCard(
        family=FAMILY,
        cite=("torgerson1952multidimensional",),
        cost="n^2",
        method=PAGE,
    )
    _parameter_constraints = {"squared": ["boolean"]}

    @parameters_are_named
    def __init__(self, *, squared=False):
        self.squared = squared

    def _learn(self, X, y=None):
        D, _ = self._symmetric(X)
        S = D if self.squared else D * D
        self.means_ = S.mean(axis=0)

    def _map(self, D):
        S = D if self.squared else D * D
        row_means = S.mean(axis=1)[:, None]
        centred = S - row_means - self.means_ + self.means_.mean()
        return -centred / 2
