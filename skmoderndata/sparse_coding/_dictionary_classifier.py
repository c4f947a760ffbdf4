"""Classification by class-specific dictionaries."""

from numbers import Integral

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, validate_data
from skmoderndata._solvers.common.linalg import fix_signs, unit_rows
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.common.tolerances import RESULT_DIGITS
from skmoderndata._solvers.dictionaries.class_dictionaries import (
    class_residuals,
    code_class,
    discriminative_pass,
)
from skmoderndata._solvers.dictionaries.ksvd import learn_dictionary
from skmoderndata.sparse_coding._base import warn_few_dimensions

# Factor by which lambda increases over the discriminative passes. Together with the decrease of
# gamma, the increase makes the cost approach the number of errors.
SHARPER = 4.0
# Size of the initial gamma, as a multiple of its final value `reconstruction`.
LOOSER = 4.0


class DictionaryClassifier(CallbackSupportMixin, ClassifierMixin, Base):
    r"""Classifier with a discriminative dictionary for each class.

    With :math:`R_j(x) = \min \|x - a D_j\|^2` over codes with at most s non-zeros, a sample
    is assigned to the class with the smallest residual. K-SVD learns a dictionary for each class,
    and discriminative passes then change the dictionaries to lower

    .. math::
        \sum_x \log \sum_j e^{-\lambda (R_j(x) - R_y(x))} + \lambda \gamma R_y(x),

    where y is the class of x. The first term is a smooth count of errors; the second preserves how
    well the dictionary of its class represents a sample [1]_. All samples are scaled to unit norm.

    Parameters
    ----------
    n_components : int, default=30
        Number of atoms for each class.
    n_nonzero_coefs : int, default=5
        Maximum number of atoms in a code.
    max_iter : int, default=20
        Number of passes of K-SVD for each class.
    n_discriminative : int, default=10
        Number of discriminative passes; 0 uses the dictionaries of K-SVD.
    sharpness : float or "scale", default="scale"
        Initial value of lambda, which increases fourfold over the passes. "scale" is the
        reciprocal of the median difference between the residuals of the true class and of the best
        other class.
    reconstruction : float, default=0.1
        Final weight gamma of the second term; the initial weight is four times as large.
    n_jobs : int, default=None
        Number of threads, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Generator or seed for the initial atoms and the order of the updates. Pass an int for
        reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    components_ : ndarray of shape (n_classes, n_components, n_features)
        Dictionaries of the classes, with atoms of unit norm.
    objective_ : float
        Mean cost of the training samples after the last discriminative pass; NaN without such a
        pass.
    objective_history_ : ndarray of shape (n_discriminative_passes, 2)
        Mean cost before and after each discriminative pass, with the values of lambda and gamma in
        that pass.
    sharpness_ : float
        Final value of lambda, which `predict_proba` also uses.
    n_iter_ : int
        Number of passes of K-SVD plus discriminative passes.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.svm.LinearSVC : Separates classes by hyperplanes instead of representing them.
    skmoderndata.sparse_coding.SparseRepresentationClassifier : Keeps all training samples instead
        of learned atoms.
    skmoderndata.decomposition.KSVD : Learns each dictionary.

    Notes
    -----
    The data should have at least 20 columns. If there are no more columns than non-zeros, every
    dictionary represents every sample, and `fit` warns.

    A discriminative pass codes all N samples with all K dictionaries several times,
    ``K N (n k + s^2 k)``, and solves an eigenproblem of n dimensions for each atom. The problem is
    not convex and has no certificate. A pass never increases its cost: steps that would increase
    it are halved up to six times and then omitted. Zero samples have the same residual for all
    classes and are assigned to the first class.

    References
    ----------
    .. [1] Mairal, Bach, Ponce, Sapiro and Zisserman, Discriminative learned dictionaries for local
       image analysis, CVPR 2008, equations (3) to (6).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmoderndata.sparse_coding import DictionaryClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DictionaryClassifier(n_components=20, random_state=0).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.95)
    True
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=("mairal2008discriminative",),
        cost="T n K (p k + s^2 k)",
        tier="textbook",
        instead="Use `SVC`: on digits it is about as accurate and fits in a small fraction of the "
        "time.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "n_nonzero_coefs": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "n_discriminative": [Interval(Integral, 0, None, closed="left")],
        "sharpness": [StrOptions({"scale"}), POSITIVE],
        "reconstruction": [NON_NEGATIVE],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=30,
        *,
        n_nonzero_coefs=5,
        max_iter=20,
        n_discriminative=10,
        sharpness="scale",
        reconstruction=0.1,
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_nonzero_coefs = n_nonzero_coefs
        self.max_iter = max_iter
        self.n_discriminative = n_discriminative
        self.sharpness = sharpness
        self.reconstruction = reconstruction
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn the dictionaries.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : DictionaryClassifier
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=FLOATS)
        check_classification_targets(y)
        self.classes_, target = np.unique(y, return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes, but y has "
                f"{n_classes} class."
            )
        if X.shape[1] <= self.n_nonzero_coefs:
            counts = (
                f"X has {X.shape[1]} columns, and n_nonzero_coefs={self.n_nonzero_coefs} atoms"
            )
            warn_few_dimensions(self, counts=counts, remedy="a smaller n_nonzero_coefs")
        data = unit_rows(X)
        rng = check_random_state(self.random_state)

        passes = n_classes * self.max_iter + self.n_discriminative
        # The matrices are small: more BLAS threads would slow each other down.
        with FitProgress(self, X, y, max_passes=passes) as progress, one_blas_thread():
            starts = [
                self._represent(data[target == c], rng, progress) for c in range(n_classes)
            ]
            dictionaries, n_passes = self._discriminate(
                data, target, np.stack(starts), rng, progress
            )

        dictionaries = np.stack([fix_signs(D) for D in dictionaries])
        self.components_ = dictionaries.astype(X.dtype, copy=False)
        self.n_iter_ = self.max_iter + n_passes
        return self

    def _represent(self, data, rng, progress):
        """Learn the dictionary of the samples of one class by K-SVD."""
        start = _start(data, self.n_components, rng)
        if not data.any():
            return start

        def coder(atoms, rows):
            return code_class(data[rows], atoms.rows, self.n_nonzero_coefs, self.n_jobs)

        result = learn_dictionary(
            data, start, coder, max_iter=self.max_iter, rng=rng, progress=progress
        )
        return result.atoms

    def _discriminate(self, data, target, dictionaries, rng, progress):
        """Run passes that lower the discriminative cost, and set their fitted attributes."""
        residuals = class_residuals(data, dictionaries, self.n_nonzero_coefs, self.n_jobs)
        # Compare the residual of the true class with the smallest residual of the other classes.
        rows = np.arange(len(target))
        true_class = residuals[rows, target]
        others = residuals.copy()
        others[rows, target] = np.inf

        # Set the sharpness in units of a typical difference.
        first = self.sharpness
        if first == "scale":
            differences = np.abs(others.min(axis=1) - true_class)
            typical = float(np.median(differences))
            first = 1.0 / max(typical, 1e-6)

        n_passes = self.n_discriminative
        growth = np.linspace(0, 1, max(2, n_passes))[:n_passes]
        objective = []
        # Sharpen the cost from pass to pass and lower the weight of reconstruction.
        for fraction in growth:
            progress.begin()
            sharpness = first * SHARPER**fraction
            weight = self.reconstruction * LOOSER ** (1 - fraction)
            step = discriminative_pass(
                data,
                target,
                dictionaries,
                n_nonzero=self.n_nonzero_coefs,
                sharpness=sharpness,
                weight=weight,
                rng=rng,
                n_jobs=self.n_jobs,
            )

            dictionaries = step.dictionaries
            objective.append((step.before, step.after))
            if progress.end():
                break

        self.objective_ = float(objective[-1][1]) if objective else np.nan
        self.objective_history_ = np.array(objective).reshape(-1, 2)
        self.sharpness_ = float(first * SHARPER)
        return dictionaries, len(objective)

    @by_rows
    def predict(self, X):
        """Predict the labels of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted labels.
        """
        residuals = self._residuals(X)
        nearest = np.argmin(residuals, axis=1)
        return self.classes_[nearest]

    @by_rows
    def decision_function(self, X):
        """Compare the squared residuals for the dictionaries of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Negative squared residuals of the samples, scaled to unit norm, minus their mean over
            the classes; for two classes, the residual of the first class minus the residual of the
            second.
        """
        residuals = self._residuals(X)
        if len(self.classes_) == 2:
            return residuals[:, 0] - residuals[:, 1]
        # Remove the offset common to all classes.
        mean = residuals.mean(axis=1, keepdims=True)
        return mean - residuals

    @by_rows
    def predict_proba(self, X):
        """Compute class probabilities from the model of the cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Softmax of ``-sharpness_ R``. These probabilities are overconfident: calibrate them if
            they matter.
        """
        residuals = self._residuals(X)
        return softmax(-self.sharpness_ * residuals, axis=1)

    def _residuals(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        rows = unit_rows(X)
        dictionaries = self.components_.astype(np.float64, copy=False)
        with one_blas_thread():
            return class_residuals(rows, dictionaries, self.n_nonzero_coefs, self.n_jobs)


def _start(data, k, rng):
    """Return initial atoms: distinct samples in random order, then random directions."""
    rows = data[rng.permutation(len(data))]
    nonzero = np.any(rows != 0, axis=1)
    rows = rows[nonzero]

    # Keep the first of each set of samples that differ only by sign or rounding.
    first = []
    if len(rows):
        keys = np.round(fix_signs(rows), RESULT_DIGITS) + 0.0
        _, first = np.unique(keys, axis=0, return_index=True)
        first = np.sort(first)
    start = rows[first][:k]

    missing = k - len(start)
    directions = rng.normal(size=(missing, data.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.concatenate([start, directions])
