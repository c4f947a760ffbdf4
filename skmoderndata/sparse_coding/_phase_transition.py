"""Fraction of sparse signals that a method recovers, over sparsity and number of measurements."""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skmoderndata._estimator.plotting import axes_or_new
from skmoderndata._solvers.recovery.phase_transition import half_success, l1_threshold

COEFFICIENTS = ("gaussian", "signs", "positive")
THEORIES = (True, False, "positive")


class PhaseTransition(NamedTuple):
    """Result of `phase_transition`.

    `delta` (n_delta,) contains measurements per feature, `rho` (n_rho,) non-zeros per measurement
    and `success` (n_delta, n_rho) the fractions of signals recovered. `border` (n_delta,) is the
    value of rho at which a logistic curve through the fractions equals one half, or NaN if they do
    not cross it.
    """

    delta: np.ndarray
    rho: np.ndarray
    success: np.ndarray
    border: np.ndarray


def l1_phase_transition(delta, *, positive=False):
    r"""Theoretical phase transition of basis pursuit.

    For m Gaussian measurements of n unknowns, s of them non-zero, with :math:`\delta = m / n`,
    recovery by l1 minimisation succeeds with probability near one for s / m below this curve and
    near zero above; the transition becomes sharper as n grows [1]_.

    Parameters
    ----------
    delta : array-like of shape (n_values,)
        Measurements per unknown, m / n, above 0 and at most 1.
    positive : bool, default=False
        Whether the unknowns are known to be non-negative.

    Returns
    -------
    rho : ndarray of shape (n_values,)
        Non-zeros per measurement, s / m.

    References
    ----------
    .. [1] Donoho and Tanner, Observed universality of phase transitions in high-dimensional
       geometry, with implications for modern data analysis and signal processing, Philosophical
       Transactions of the Royal Society A 367, 2009.

    Examples
    --------
    >>> from skmoderndata.sparse_coding import l1_phase_transition
    >>> l1_phase_transition([0.1, 0.5, 0.9]).round(3)
    array([0.189, 0.386, 0.678])
    """
    delta = np.asarray(delta, dtype=np.float64)
    inside = (delta > 0) & (delta <= 1)
    if delta.ndim != 1 or not inside.all():
        raise ValueError("delta must contain numbers above 0 and at most 1.")
    return l1_threshold(delta, positive=positive)


def phase_transition(
    estimator,
    *,
    n_features=200,
    delta=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    rho=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    n_trials=20,
    coefficients="gaussian",
    tol=1e-3,
    n_jobs=None,
    random_state=None,
):
    """Measure the fraction of random signals that an estimator recovers from measurements.

    The signals are sparse and the measurements Gaussian.

    Parameters
    ----------
    estimator : estimator object
        Regressor whose ``fit(X, y)`` accepts measurement vectors and measurements, and whose
        `coef_` is the signal, such as `SparseRecovery`, `BasisPursuit`, or scikit-learn's
        `OrthogonalMatchingPursuit(fit_intercept=False)`. If it has a parameter `n_nonzero_coefs`,
        this is set to the sparsity.
    n_features : int, default=200
        Number of unknowns n. The transition is about ``n ** -0.5`` wide.
    delta : array-like, default=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
        Measurements per unknown; the number of measurements is ``round(delta n)``.
    rho : array-like, default=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
        Non-zeros per measurement; there is at least one non-zero.
    n_trials : int, default=20
        Number of signals for each pair of delta and rho.
    coefficients : {"gaussian", "signs", "positive"}, default="gaussian"
        Distribution of the non-zeros: normal, random signs, or absolute values of normal
        variables. Greedy methods recover normal coefficients more easily; for the l1 norm, only
        the signs matter.
    tol : float, default=1e-3
        Maximum relative error of a signal that counts as recovered.
    n_jobs : int, default=None
        Number of processes, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Generator or seed for signals and measurements.

    Returns
    -------
    transition : PhaseTransition
        Named tuple `(delta, rho, success, border)`.

    Examples
    --------
    >>> from skmoderndata.sparse_coding import SparseRecovery, phase_transition
    >>> found = phase_transition(
    ...     SparseRecovery(algorithm="htp"), n_features=40, delta=[0.5], rho=[0.05, 0.9],
    ...     n_trials=4, random_state=0,
    ... )
    >>> found.success
    array([[1., 0.]])
    """
    delta = np.atleast_1d(np.asarray(delta, dtype=np.float64))
    rho = np.atleast_1d(np.asarray(rho, dtype=np.float64))
    for name, grid in (("delta", delta), ("rho", rho)):
        if grid.ndim != 1 or not grid.size:
            raise ValueError(f"{name} must contain numbers above 0 and at most 1.")
        _check_fractions(name, grid)
    if coefficients not in COEFFICIENTS:
        raise ValueError(f"coefficients={coefficients!r} must be one of {COEFFICIENTS}.")
    if n_trials < 1 or n_features < 1:
        raise ValueError(
            f"n_trials={n_trials} and n_features={n_features} must be at least 1."
        )

    rng = check_random_state(random_state)
    seed = rng.randint(np.iinfo(np.int32).max)
    names = estimator.get_params(deep=False)
    sparsity_name = "n_nonzero_coefs" if "n_nonzero_coefs" in names else None
    settings = (n_trials, coefficients, tol)

    # Each cell draws its own problems, so results do not depend on which cells run together.
    cells = [(i, j) for i in range(len(delta)) for j in range(len(rho))]
    draw = delayed(_recovered)
    counts = Parallel(n_jobs=n_jobs)(
        draw(estimator, sparsity_name, n_features, delta[i], rho[j], *settings, (seed, i, j))
        for i, j in cells
    )

    hits = np.array(counts, dtype=np.float64)
    hits = hits.reshape(len(delta), len(rho))
    trials = np.full(len(rho), float(n_trials))
    border = np.array([half_success(rho, row, trials) for row in hits])
    return PhaseTransition(delta, rho, hits / n_trials, border)


def _recovered(estimator, sparsity_name, n, delta, rho, n_trials, coefficients, tol, seed):
    """Count the recovered signals for one pair of delta and rho."""
    rng = np.random.default_rng(seed)
    m = max(1, round(delta * n))
    s = max(1, round(rho * m))
    hits = 0
    for _ in range(n_trials):
        # Draw columns of about unit norm, and s coefficients at random positions.
        X = rng.normal(size=(m, n)) / np.sqrt(m)
        signal = np.zeros(n)
        values = rng.normal(size=s)
        if coefficients == "signs":
            values = np.sign(values)
        elif coefficients == "positive":
            values = np.abs(values)
        support = rng.choice(n, s, replace=False)
        signal[support] = values

        # A signal is recovered if the error is at most tol times its norm.
        model = clone(estimator)
        if sparsity_name is not None:
            model.set_params(**{sparsity_name: s})
        model.fit(X, X @ signal)
        error = np.linalg.norm(np.ravel(model.coef_) - signal)
        hits += bool(error <= tol * np.linalg.norm(signal))
    return hits


class PhaseTransitionDisplay:
    """Plot of the fraction of recovered signals over sparsity and number of measurements.

    Parameters
    ----------
    delta : array-like of shape (n_delta,)
        Measurements per unknown.
    rho : array-like of shape (n_rho,)
        Non-zeros per measurement.
    success : array-like of shape (n_delta, n_rho)
        Fraction of signals recovered.
    border : array-like of shape (n_delta,), default=None
        Values of rho at which the fraction is one half.
    theory : bool or "positive", default=True
        Theoretical curve that `plot` draws by default.
    estimator_name : str, default=None
        Name of the estimator in the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.
    figure_ : matplotlib Figure
        Figure of the plot.
    mesh_ : matplotlib QuadMesh
        Fractions of recovered signals.
    border_line_ : matplotlib Line2D or None
        Curve on which the fraction is one half.
    theory_line_ : matplotlib Line2D or None
        Theoretical curve for the l1 norm.

    See Also
    --------
    phase_transition : Measures the fractions.
    l1_phase_transition : Computes the theoretical curve.

    Examples
    --------
    >>> from skmoderndata.sparse_coding import PhaseTransitionDisplay, SparseRecovery
    >>> display = PhaseTransitionDisplay.from_estimator(  # doctest: +SKIP
    ...     SparseRecovery(algorithm="basis_pursuit"), n_features=100, random_state=0
    ... )
    >>> PhaseTransitionDisplay(delta=[0.5], rho=[0.1, 0.9], success=[[1, 0]]).success
    array([[1, 0]])
    """

    def __init__(
        self, *, delta, rho, success, border=None, theory=True, estimator_name=None
    ):  # fmt: skip
        self.delta = np.asarray(delta)
        self.rho = np.asarray(rho)
        self.success = np.asarray(success)
        self.border = None if border is None else np.asarray(border)
        self.theory = theory
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(cls, estimator, *, theory=None, ax=None, name=None, **settings):
        """Measure the fractions of recovered signals and plot them.

        Parameters
        ----------
        estimator : estimator object
            Regressor to measure, see `phase_transition`.
        theory : bool or "positive", default=None
            Whether to draw the theoretical curve; "positive" draws the curve for non-negative
            unknowns. None chooses "positive" if the estimator has `positive=True`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        name : str, default=None
            Name in the title; None uses the class and the algorithm, if the class has one.
        **settings : dict
            Parameters of `phase_transition`: the grids, the number of trials and so on.

        Returns
        -------
        display : PhaseTransitionDisplay
            Display with `ax_` and `figure_`.
        """
        params = estimator.get_params(deep=False)
        if theory is None:
            theory = "positive" if params.get("positive") is True else True
        _check_theory(theory)
        measured = phase_transition(estimator, **settings)
        if name is None:
            name = type(estimator).__name__
            algorithm = params.get("algorithm")
            name += "" if algorithm is None else f", {algorithm}"

        display = cls(**measured._asdict(), theory=theory, estimator_name=name)
        return display.plot(ax)

    def plot(self, ax=None, *, name=None, theory=None, **kwargs):
        """Plot the fractions.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        name : str, default=None
            Name in the title; None uses `estimator_name`.
        theory : bool or "positive", default=None
            Whether to draw the theoretical curve; "positive" draws the curve for non-negative
            unknowns. None uses `theory` of the display.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.pcolormesh`.

        Returns
        -------
        self : PhaseTransitionDisplay
            Display with `ax_` and `figure_`.
        """
        theory = self.theory if theory is None else theory
        _check_theory(theory)
        delta, rho, success, border = self._ascending()
        ax = axes_or_new(self, ax)

        # Draw a single row or column twice, because otherwise it would have no width.
        style = {"cmap": "gray", "vmin": 0, "vmax": 1, "shading": "nearest"} | kwargs
        rows, columns = (2 if len(grid) == 1 else 1 for grid in (delta, rho))
        cells = success.repeat(rows, axis=0).repeat(columns, axis=1)
        self.mesh_ = ax.pcolormesh(_spread(delta), _spread(rho), cells.T, **style)
        self.border_line_ = self.theory_line_ = None

        if border is not None:
            (self.border_line_,) = ax.plot(
                delta, border, "o-", color="C1", markersize=4, label="half recovered"
            )

        if theory:
            low, high = _limits(delta)
            grid = np.linspace(max(low, 1e-3), min(high, 1.0), 100)
            positive = theory == "positive"
            threshold = l1_phase_transition(grid, positive=positive)
            label = "theory, least l1 norm" + (", non-negative" if positive else "")
            (self.theory_line_,) = ax.plot(grid, threshold, color="C3", ls="--", label=label)

        if border is not None or theory:
            ax.legend(loc="upper left", fontsize=8)
        ax.set_xlabel("measurements per unknown")
        ax.set_ylabel("non-zeros per measurement")
        ax.set_xlim(_limits(delta))
        ax.set_ylim(_limits(rho))

        name = self.estimator_name if name is None else name
        if name is not None:
            ax.set_title(name)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _ascending(self):
        """Check the fractions and return them with `delta` and `rho` in ascending order."""
        for name, grid in (("delta", self.delta), ("rho", self.rho)):
            different = len(np.unique(grid)) == grid.size
            if grid.ndim != 1 or not different or not grid.size:
                raise ValueError(f"{name} must contain different numbers, and at least one.")
            _check_fractions(name, grid)

        expected = (len(self.delta), len(self.rho))
        if self.success.shape != expected:
            raise ValueError(
                f"success has the shape {self.success.shape}, but delta and rho require "
                f"{expected}."
            )
        i = np.argsort(self.delta)
        j = np.argsort(self.rho)
        border = None if self.border is None else self.border[i]
        success = self.success[np.ix_(i, j)]
        return self.delta[i], self.rho[j], success, border


def _check_fractions(name, grid):
    if not ((grid > 0) & (grid <= 1)).all():
        raise ValueError(f"{name} must contain numbers above 0 and at most 1.")


def _check_theory(theory):
    if not (isinstance(theory, bool | str) and theory in THEORIES):
        raise ValueError(f"theory={theory!r} must be True, False or 'positive'.")


def _spread(grid):
    """Return the centres of the cells; a single value becomes two, so that it has a width."""
    if len(grid) > 1:
        return grid
    value = grid[0]
    return np.array([value - 0.01, value + 0.01])


def _limits(grid):
    grid = _spread(grid)
    first_step = grid[1] - grid[0]
    last_step = grid[-1] - grid[-2]
    low = grid[0] - 0.5 * first_step
    high = grid[-1] + 0.5 * last_step
    return float(low), float(high)
