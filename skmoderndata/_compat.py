"""The only module that imports private or experimental names from scikit-learn."""

import functools
from numbers import Integral, Real

from sklearn.base import _fit_context as _sklearn_fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Hidden,
    Interval,
    Options,
    RealNotInt,
    StrOptions,
    validate_params,
)
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # the interface moved: estimators go on without progress

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
    "AT_LEAST_ONE",
    "CallbackSupportMixin",
    "HasMethods",
    "Hidden",
    "Interval",
    "NON_NEGATIVE",
    "Options",
    "POSITIVE",
    "RealNotInt",
    "StrOptions",
    "check_feature_names_in",
    "check_sample_weight",
    "fit_context",
    "validate_params",
]

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")

_CALLBACK_STATE = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")


def fit_context(*, prefer_skip_nested_validation=True):
    """Decorate `fit`: check parameters, tear callbacks down, leave no half-fitted object.

    An exception or an interrupt inside `fit` restores the attributes from before the call, so a
    fitted estimator stays usable and an unfitted one stays unfitted. The restoration is shallow:
    a method that updates arrays in place (`partial_fit`) works on copies until it is done.
    """

    def decorator(fit):
        @functools.wraps(fit)
        def all_or_nothing(estimator, *args, **kwargs):
            before = vars(estimator).copy()
            try:
                return fit(estimator, *args, **kwargs)
            except BaseException:
                state = vars(estimator)
                callback_state = {key: state[key] for key in _CALLBACK_STATE if key in state}
                state.clear()
                state.update(before | callback_state)
                raise

        return _sklearn_fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)(
            all_or_nothing
        )

    return decorator
