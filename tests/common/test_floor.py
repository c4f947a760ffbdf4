"""What a call of a core class does besides its method: counted, because times vary."""

import sys
import threading
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import check_array

from skmoderndata._estimator.compat import CallbackSupportMixin
from skmoderndata.decomposition import KSVD
from tests.common.instances import FIRST, form, label, sample, target

CORE = [one for one in FIRST if one._card.tier == "core"]
SHAPE = (30, 5)

# Fits in which an estimator of scikit-learn checks the rows again, with the reason.
SEVERAL_CHECKS = {
    "ConvexNMF": "KMeans finds the initial memberships",
    "SparseGaussianProcessClassifier": "MiniBatchKMeans finds the inducing inputs",
    "SparseGaussianProcessRegressor": "MiniBatchKMeans finds the inducing inputs",
}


class Counted:
    """Context that counts calls of functions, by whatever name they are imported.

    The counts are the checks of arrays of a given shape, the contexts of callbacks, and the
    threads and the pools of joblib that this thread starts.
    """

    def __init__(self, shape):
        self.shape = shape
        self.counts = Counter()
        self.names = {
            check_array.__code__: "checks",
            CallbackSupportMixin._init_callback_context.__code__: "contexts",
            threading.Thread.start.__code__: "threads",
            ThreadPoolExecutor.__init__.__code__: "threads",
            Parallel.__call__.__code__: "pools",
        }

    def _look(self, frame, event, argument):
        name = self.names.get(frame.f_code) if event == "call" else None
        if name == "checks" and np.shape(frame.f_locals["array"]) != self.shape:
            return
        if name:
            self.counts[name] += 1

    def __enter__(self):
        self._before = sys.getprofile()
        sys.setprofile(self._look)
        return self.counts

    def __exit__(self, *error):
        sys.setprofile(self._before)


def calls_of(estimator):
    """Return the calls of a fitted copy by their names, and the shape of its table."""
    X = form(estimator, sample(*SHAPE))
    y = target(estimator, X)
    model = clone(estimator).fit(X, y)
    calls = {"fit": lambda: model.fit(X, y)}
    for name in ("transform", "predict"):
        if hasattr(model, name):
            calls[name] = lambda name=name: getattr(model, name)(X)
    return calls, X.shape


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", CORE, ids=label)
def test_each_call_checks_its_table_once_and_starts_nothing(estimator):
    calls, shape = calls_of(estimator)
    owner = type(estimator).__name__
    for name, call in calls.items():
        modules = set(sys.modules)
        with Counted(shape) as counts:
            call()

        n_checks = 2 if name == "fit" and owner in SEVERAL_CHECKS else 1
        assert counts == {"checks": n_checks}, name
        assert set(sys.modules) == modules, name


def test_counts_checks_contexts_threads_and_pools():
    X = sample(*SHAPE)

    class Watcher:
        def setup(self, estimator, context):
            pass

        teardown = on_fit_task_begin = on_fit_task_end = setup

    with Counted(X.shape) as counts:
        check_array(X)
        check_array(X[:-1])
        threading.Thread(target=len, args=[()]).start()
        Parallel()([delayed(len)([])])
    assert counts == {"checks": 1, "threads": 1, "pools": 1}

    watched = KSVD(max_iter=2, random_state=0)
    if not hasattr(watched, "set_callbacks"):
        pytest.skip("this version of scikit-learn has no callbacks")
    with Counted(X.shape) as counts, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        watched.set_callbacks(Watcher()).fit(X)
    assert counts == {"checks": 1, "contexts": 1}
