"""The only module that imports private or experimental names from scikit-learn."""

import functools
import warnings
from inspect import currentframe, signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import _fit_context as _sklearn_fit_context
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils._param_validation import (
    HasMethods,
    Hidden,
    Interval,
    InvalidParameterError,
    Options,
    RealNotInt,
    StrOptions,
    validate_params,
)
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_sample_weight as _sklearn_check_sample_weight

from skmoderndata._solvers.common.arrays import as_numpy

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # if scikit-learn has moved its callbacks, estimators report no progress

    class _NoContext:
        def subcontext(self, **kwargs):
            return self

        def call_on_fit_task_begin(self, **kwargs):
            return self

        def call_on_fit_task_end(self, **kwargs):
            return False

    class CallbackSupportMixin:
        """Stand-in for scikit-learn's mixin: no callbacks, no progress."""

        def _init_callback_context(self, **kwargs):
            return _NoContext()


__all__ = [
    "InvalidParameterError",
    "AT_LEAST_ONE",
    "CallbackSupportMixin",
    "HasMethods",
    "Hidden",
    "Interval",
    "N_JOBS",
    "NON_NEGATIVE",
    "NamedOptions",
    "Options",
    "POSITIVE",
    "RealNotInt",
    "StrOptions",
    "all_or_nothing",
    "check_feature_names_in",
    "check_sample_weight",
    "fit_context",
    "has_callbacks",
    "output_container",
    "set_network",
    "set_support_vectors",
    "svm_training_samples",
    "unmasked",
    "validate_params",
]

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
# joblib raises an error for 0, but only when there is work for several jobs
N_JOBS = [
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
    None,
]


class NamedOptions(StrOptions):
    """Strings, with the names that other libraries use, for the error message.

    >>> print(NamedOptions({"dtw"}, elsewhere="tslearn's 'DTW' is 'dtw' here"))
    a str among {'dtw'} (tslearn's 'DTW' is 'dtw' here)
    """

    def __init__(self, options: set[str], *, elsewhere: str) -> None:
        super().__init__(options)
        self.elsewhere = elsewhere

    def __str__(self) -> str:
        return f"{super().__str__()} ({self.elsewhere})"


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the first caller outside of this package, joblib and scikit-learn.

    The number of frames up to it depends on the decorators of the method that was called.
    """
    frame = currentframe()
    level = 0
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "skmoderndata",
        "joblib",
        "sklearn",
    ):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)


def unmasked(
    X: Any, *, owner: str | None = None, input_name: str = "X", allow_nan: bool = False
) -> Any:
    """Convert a masked array of NumPy to an ordinary array, and return other data unchanged.

    scikit-learn would use the numbers under the mask.

    Parameters
    ----------
    X : object
        Data in any form; a list may contain masked arrays.
    owner, input_name : str
        Names of the class and of the argument in the error message.
    allow_nan : bool, default=False
        Whether NaN marks missing entries.

    Returns
    -------
    X
        Data, with NaN in place of entries that the mask hides.

    Raises
    ------
    ValueError
        If entries are hidden and NaN is not allowed.
    """
    # unmask each array of a list, and return data without masked entries as they are
    if isinstance(X, list | tuple) and any(isinstance(x, np.ma.MaskedArray) for x in X):
        return [
            unmasked(x, owner=owner, input_name=input_name, allow_nan=allow_nan) for x in X
        ]
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return X.data

    # reject masked entries unless NaN can mark them
    if not allow_nan:
        who = owner or "This method"
        if input_name in ("y", "sample_weight"):
            raise ValueError(
                f"{who} does not accept {input_name} as a masked array: leave the masked samples "
                "out of X, too."
            )
        raise ValueError(
            f"{who} does not accept masked arrays, because it has no model for missing entries: "
            f"fill {input_name} first, for example by {input_name}.filled(value)."
        )
    return X.astype(X.dtype if X.dtype.kind in "fc" else np.float64).filled(np.nan)


# Whether scikit-learn accepts weights that are all zero, as versions before 1.9 do.
_ZEROS_PASS = (
    "allow_all_zero_weights" not in signature(_sklearn_check_sample_weight).parameters
)


def check_sample_weight(sample_weight: Any, X: Any, **options: Any) -> Any:
    """Return weights of samples as an array; raise ValueError if all of them are zero."""
    sample_weight = unmasked(sample_weight, input_name="sample_weight")
    weights = _sklearn_check_sample_weight(sample_weight, X, **options)
    if _ZEROS_PASS and not as_numpy(weights).any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def output_container(transformer):
    """Return the container set by `set_output` or the configuration: "default", "pandas", ..."""
    return _get_output_config("transform", transformer)["dense"]


def svm_training_samples(machine):
    """Return the training samples that a support vector machine stores, or None."""
    return getattr(machine, "_BaseLibSVM__Xfit", None)


def set_support_vectors(
    machine: Any, samples: Any, n_support: Any, coef: Any, intercept: Any
) -> None:
    """Replace the function of a fitted `SVC`, `SVR` or `OneClassSVM`.

    Parameters
    ----------
    machine : SVC, SVR or OneClassSVM
        Fitted to rows of the same form, dense or sparse.
    samples : ndarray or sparse matrix of shape (n_support, n_features)
        Support vectors in double precision, sorted by class.
    n_support : array-like of int or None
        Number of support vectors of each class; None unless the machine is a classifier.
    coef : ndarray of shape (n_rows, n_support)
        Coefficients as in `dual_coef_`.
    intercept : ndarray of shape (n_functions,)
        Offsets as in `intercept_`.
    """
    n_samples = samples.shape[0]
    coef = np.array(coef, dtype=np.float64, order="C")
    if machine._sparse:
        # the machine reads the coefficients row by row, including zeros
        columns = np.tile(np.arange(n_samples, dtype=np.int32), len(coef))
        starts = n_samples * np.arange(len(coef) + 1, dtype=np.int32)
        container = type(machine.support_vectors_)
        coef = container((coef.ravel(), columns, starts), shape=coef.shape)
        vectors = container(samples)
        vectors.sort_indices()
    else:
        vectors = np.ascontiguousarray(samples, dtype=np.float64)

    machine.support_ = np.arange(n_samples, dtype=np.int32)
    machine.support_vectors_ = vectors
    # libsvm reads as many support vectors per class as it counted in its own fit
    if n_support is None:
        n_support = np.full(len(machine._n_support), n_samples)
    machine._n_support = np.array(n_support, dtype=np.int32)
    machine.shape_fit_ = (n_samples, samples.shape[1])

    # libsvm uses the opposite sign for two classes
    sign = -1.0 if len(getattr(machine, "classes_", ())) == 2 else 1.0
    machine.dual_coef_ = coef
    machine.intercept_ = np.array(intercept, dtype=np.float64)
    machine._dual_coef_ = sign * coef
    machine._intercept_ = sign * machine.intercept_


def set_network(
    perceptron: Any, weights: list[Any], intercepts: list[Any], classes: Any = None
) -> None:
    """Set the weights of an unfitted `MLPRegressor` or, with labels, `MLPClassifier`."""
    n_outputs = len(intercepts[-1])
    perceptron.coefs_ = weights
    perceptron.intercepts_ = intercepts
    perceptron.n_layers_ = len(weights) + 1
    perceptron.n_outputs_ = n_outputs
    perceptron.n_iter_ = perceptron.t_ = 0
    perceptron.out_activation_ = "identity"
    if classes is not None:
        binarizer = LabelBinarizer().fit(classes)
        binarizer.classes_ = classes  # assigning the classes keeps the type of the labels
        perceptron._label_binarizer = binarizer
        perceptron.classes_ = classes
        perceptron.out_activation_ = "logistic" if n_outputs == 1 else "softmax"


# Attributes of running callbacks, which must survive an error in the fit.
_CALLBACK_STATE = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")


def has_callbacks(estimator):
    """Return whether callbacks are set on an estimator, or on a search that fits it."""
    state = vars(estimator)
    return bool(state.get("_skl_callbacks")) or "_parent_callback_ctx" in state


def all_or_nothing(method):
    """Decorate a method: an exception or an interrupt restores the attributes.

    A fitted estimator stays usable, and an unfitted one stays unfitted. Values of attributes are
    not copied, so a method must not change them in place.
    """

    @functools.wraps(method)
    def whole(estimator, *args, **kwargs):
        before = vars(estimator).copy()
        try:
            return method(estimator, *args, **kwargs)
        except BaseException:
            _restore(estimator, before)
            raise

    return whole


def _restore(estimator, before):
    """Replace all attributes at once, except the attributes of running callbacks."""
    state = vars(estimator)
    callback_state = {key: state[key] for key in _CALLBACK_STATE if key in state}
    estimator.__dict__ = before | callback_state


# Name of the attribute that marks a running fit; it is needed because a fit may call the `fit` of
# a parent class.
_FITTING = "_is_fitting"


def _begins_anew(estimator):
    """Delete the attributes of an earlier fit, such as `coef_`; return whether this was done.

    With `warm_start` and within another fit all attributes stay.
    """
    state = vars(estimator)
    if _FITTING in state or getattr(estimator, "warm_start", False):
        return False
    for name in [key for key in state if key.endswith("_") and not key.startswith("_")]:
        del state[name]
    state[_FITTING] = True
    return True


def fit_context(*, prefer_skip_nested_validation=True):
    """Decorate a method that fits.

    The decorated method checks the parameters, tears callbacks down, raises TypeError for tables
    that the class cannot read, forgets an earlier fit unless it is `partial_fit`, and restores
    the attributes after an exception or an interrupt, as `all_or_nothing` does.
    """

    def decorator(fit):
        name = fit.__name__
        starts_anew = name.startswith("fit")

        @functools.wraps(fit)
        def fit_or_restore(estimator, *args, **kwargs):
            estimator._check_table_of_fit(name, args, kwargs)
            before = vars(estimator).copy()
            try:
                is_outermost = starts_anew and _begins_anew(estimator)
                result = fit(estimator, *args, **kwargs)
                if is_outermost:
                    del vars(estimator)[_FITTING]
                return result
            except BaseException:
                _restore(estimator, before)
                raise

        fit_or_restore._table = "fit"
        context = _sklearn_fit_context(
            prefer_skip_nested_validation=prefer_skip_nested_validation
        )
        return context(fit_or_restore)

    return decorator
