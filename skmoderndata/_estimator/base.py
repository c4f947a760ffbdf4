"""Base of all estimators: version stamp in pickles, progress, convergence warning."""

import functools
import warnings

from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning
from sklearn.utils.parallel import Parallel, delayed

from skmoderndata._estimator.advice import meant_option
from skmoderndata._estimator.compat import InvalidParameterError, has_callbacks
from skmoderndata._estimator.doors import check_table_of_fit
from skmoderndata._version import __version__

# Address of the documentation, as in pyproject.toml.
DOCUMENTATION = "https://skmoderndata.github.io/skmoderndata"


class Base(BaseEstimator):
    """Parent of all estimators: the version in pickles, links to the documentation in HTML."""

    _doc_link_module = "skmoderndata"
    _doc_link_template = (
        f"{DOCUMENTATION}/generated/api/{{estimator_module}}.{{estimator_name}}.html"
    )

    @classmethod
    def _get_param_names(cls):
        return list(_param_names(cls))

    def _check_table_of_fit(self, name, args, kwargs):
        """Raise TypeError if the method `name`, which fits, cannot read its table."""
        check_table_of_fit(self, name, args, kwargs)

    def _validate_params(self):
        """Check the parameters as scikit-learn does; suggest an option for a misspelt one."""
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            value = getattr(self, str(error).split("'")[1])
            meant = meant_option(value, str(error)) if isinstance(value, str) else None
            if meant is None:
                raise
            raise InvalidParameterError(f"{error} Did you mean {meant!r}?") from None

    def __getstate__(self):
        return {**super().__getstate__(), "_skmoderndata_version": __version__}

    def __setstate__(self, state):
        saved = state.pop("_skmoderndata_version", "unknown")
        if saved != __version__:
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=f"{__version__} of skmoderndata",
                    original_sklearn_version=f"{saved} of skmoderndata",
                ),
                stacklevel=2,
            )
        super().__setstate__(state)


@functools.cache
def _param_names(cls):
    """Names of the parameters of a class; reading a signature takes longer than a check of X."""
    return super(Base, cls)._get_param_names()


class LazySolution:
    """Mixin for attributes that are computed from sums over the samples when first accessed.

    A subclass lists the attributes in `_SOLUTION`, and sets all of them in `_solve()`. They stay
    ordinary attributes until the next samples are added.
    """

    def __getattr__(self, name):
        if name in self._lazy_names() and self.__sklearn_is_fitted__():
            self._solve()
            return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _lazy_names(self):
        return self._SOLUTION

    def _forget_solution(self, *others):
        """Remove the attributes computed from earlier sums, and the attributes `others`."""
        for name in (*self._SOLUTION, *others):
            vars(self).pop(name, None)


def warn_fewer(estimator, *, asked, found, reason):
    """Warn that a fit found fewer components than `n_components`, and why."""
    warnings.warn(
        f"n_components={asked} exceeds {reason}: {type(estimator).__name__} returns {found}.",
        stacklevel=2,
    )


class FitProgress:
    """Context that reports the passes of a solver to scikit-learn's callbacks.

    >>> with FitProgress(self, X, y, max_passes=self.max_iter) as progress:  # doctest: +SKIP
    ...     result = solver(X, progress=progress)

    The solver passes `progress` to `Iterations`, which calls `begin` and `end` around each pass.
    Once a callback has requested a stop, `end` returns True and `stopped` is True. No context is
    opened for an estimator without callbacks, because it takes as long as a pass over a small
    table.
    """

    def __init__(self, estimator, X=None, y=None, *, max_passes, task_name="iteration"):
        self.estimator = estimator
        self.X = X
        self.y = y
        self.max_passes = max_passes
        self.task_name = task_name
        # whether a callback has requested that the fit stop
        self.stopped = False
        self._root = None

    def __enter__(self):
        if has_callbacks(self.estimator):
            self._root = self.estimator._init_callback_context(max_subtasks=self.max_passes)
            self._root.call_on_fit_task_begin(estimator=self.estimator, X=self.X, y=self.y)
        return self

    def begin(self):
        """Open the task of one pass."""
        if self._root is not None:
            self._task = self._root.subcontext(task_name=self.task_name)
            self._task.call_on_fit_task_begin(estimator=self.estimator, X=self.X, y=self.y)

    def end(self):
        """Close the task of the pass; return True if the solver has to stop."""
        if self._root is None:
            return False
        task = self._task
        if task.call_on_fit_task_end(estimator=self.estimator, X=self.X, y=self.y):
            self.stopped = True
        return self.stopped

    def __exit__(self, error_type, error, traceback):
        if error_type is None and self._root is not None:
            self._root.call_on_fit_task_end(estimator=self.estimator, X=self.X, y=self.y)


def run_starts(
    estimator,
    X,
    y,
    one_start,
    seeds,
    *,
    max_passes,
    task_name="iteration",
    n_jobs=None,
    prefer=None,
    require=None,
    all_of=False,
):
    """Run a start for each seed, in parallel if there are several jobs.

    `one_start` is called with the keywords `seed` (or a start itself) and `progress`. The passes
    of starts in parallel are not reported individually. `prefer` and `require` have the same
    meaning as in joblib: use "sharedmem" if starts write to shared objects. With `all_of`, a
    request to stop ends the passes of each start, but all starts are run.

    Returns
    -------
    results : list
        Values that the starts returned.
    stopped : bool
        Whether a callback requested a stop.
    """
    parallel = effective_n_jobs(n_jobs) > 1 and len(seeds) > 1
    task, passes = ("starts", 1) if parallel else (task_name, max_passes)
    results = []
    with FitProgress(estimator, X, y, max_passes=passes, task_name=task) as progress:
        # run all starts at once, without a callback for each pass
        if parallel:
            progress.begin()
            run = delayed(one_start)
            parallel_starts = Parallel(n_jobs=n_jobs, prefer=prefer, require=require)
            results = parallel_starts(run(seed=seed) for seed in seeds)
            progress.end()

        # run one start after the other
        for seed in () if parallel else seeds:
            results.append(one_start(seed=seed, progress=progress))
            if progress.stopped and not all_of:
                break
    return results, progress.stopped


def run_parts(estimator, X, y, one_part, parts, *, max_passes, task_name, n_jobs=None):
    """Solve all parts of a model, such as its classes, in threads if there are several jobs.

    `one_part` is called with a part and the keyword `progress`, and must not change objects that
    other parts use. A request to stop ends the passes of each part; the model needs all parts.
    """

    def one_start(*, seed, progress=None):
        return one_part(seed, progress=progress)

    results, _ = run_starts(
        estimator,
        X,
        y,
        one_start,
        parts,
        max_passes=max_passes,
        task_name=task_name,
        n_jobs=n_jobs,
        require="sharedmem",
        all_of=True,
    )
    return results


def warn_not_converged(estimator, *, reached, remedy):
    """Warn that `fit` ended above its tolerance; name the value reached and the remedy."""
    warnings.warn(
        f"{type(estimator).__name__} stopped before it converged: {reached}; {remedy}.",
        ConvergenceWarning,
        stacklevel=3,
    )
