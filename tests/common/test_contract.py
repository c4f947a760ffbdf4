"""What scikit-learn's users expect of every estimator, derived from the registry."""

import inspect
import pickle
import re
import warnings

import joblib
import numpy as np
import pytest
import sklearn
import sklearn.model_selection
from numpy.testing import assert_allclose, assert_array_equal
from numpydoc.docscrape import FunctionDoc
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.discovery import all_estimators as sklearn_estimators
from sklearn.utils.discovery import all_functions as sklearn_functions
from sklearn.utils.fixes import parse_version

from tests.common import tier
from tests.common.instances import (
    CLASSES,
    FIRST,
    SETTINGS,
    each_instance,
    each_setting,
    fitted,
    fitted_to_the_sample,
    form,
    instances_with,
    label,
    outputs,
    sample,
    settings_with,
    target,
)
from tests.common.known_failures import known_failures


def keeps_float32(estimator):
    tags = estimator.__sklearn_tags__().transformer_tags
    return tags is not None and "float32" in tags.preserves_dtype


# With the newest scikit-learn, a known failure that passes is an error.
NEWEST = parse_version(sklearn.__version__) >= parse_version("1.9")
STRICT = {"xfail_strict": True} if NEWEST else {}

# Checks that may depend on the parameters: the default tier runs these checks on every setting,
# and all other checks only on the first setting of each class.
CHECKS_OF_SETTINGS = {
    "check_estimator_cloneable",
    "check_estimator_sparse_array",
    "check_estimators_dtypes",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_fit2d_1sample",
    "check_methods_subset_invariance",
    "check_transformer_preserve_dtypes",
}


def contract():
    """Return the pairs of an estimator and a check of scikit-learn that the tier runs."""
    pairs = []
    for estimator in SETTINGS:
        whole = tier.FULL or any(estimator is one for one in FIRST)
        for pair in estimator_checks.estimator_checks_generator(
            estimator,
            expected_failed_checks=known_failures(type(estimator)),
            mark="xfail",
            **STRICT,
        ):
            check = getattr(pair, "values", pair)[1]  # marked pairs are parameters of pytest
            if whole or check.func.__name__ in CHECKS_OF_SETTINGS:
                pairs.append(pair)
    return pairs


def id_of(value):
    """Return the test id of an estimator or of a check."""
    if not hasattr(value, "func"):
        return label(value)
    options = ",".join(f"{key}={option}" for key, option in value.keywords.items())
    return f"{value.func.__name__}({options})" if options else value.func.__name__


# no function separates random labels; tests of the warning itself still see the warning
@pytest.mark.filterwarnings("ignore:KernelPerceptron stopped before it converged")
# labels as targets have no noise; tests of the warning itself still see the warning
@pytest.mark.filterwarnings(
    "ignore:BayesianCommitteeMachine .* the likelihood still rises beyond"
)
# a selector may find no relevant feature for random labels
@pytest.mark.filterwarnings("ignore:No features were selected")
# if columns have an offset of 100, a polynomial kernel is nearly singular
@pytest.mark.filterwarnings("ignore:L2SV[CR] stopped before it converged")
@pytest.mark.parametrize(("estimator", "check"), contract(), ids=id_of)
def test_sklearn_contract(estimator, check):
    check(estimator)


@pytest.mark.skipif(not NEWEST, reason="older scikit-learn lacks some checks")
def test_expected_failures_name_real_checks():
    misspelt = [
        (cls.__name__, name)
        for cls in CLASSES
        for name in known_failures(cls)
        if not hasattr(estimator_checks, name)
    ]
    assert misspelt == []


@pytest.mark.parametrize(
    "cls", [c for c in CLASSES if known_failures(c)], ids=lambda cls: cls.__name__
)
def test_expected_failures_describe_the_failure(cls):
    """In names that exist: of scikit-learn's wrappers and scores, or of the class itself."""
    theirs = {name for name, _ in [*sklearn_estimators(), *sklearn_functions()]} | {"Pipeline"}
    theirs |= set(sklearn.model_selection.__all__)
    ours = {
        *dir(cls),
        *inspect.signature(cls).parameters,
        *(other.__name__ for other in CLASSES),
    }
    for reason in known_failures(cls).values():
        names = re.findall(r"`(\w+)`", reason.partition("In use: ")[2])
        assert names
        assert set(names) <= theirs | ours


def test_expected_failures_of_different_reasons_differ_in_use():
    said = {}
    for reason in {one for cls in CLASSES for one in known_failures(cls).values()}:
        why, _, use = reason.partition("In use: ")
        said.setdefault(use, set()).add(why)
    repeated = {use for use, why in said.items() if len(why) > 1}
    assert {
        use for use in repeated if "view_slices" not in use
    } == set()  # classes with two views may share one use


BEYOND = [
    "check_dataframe_column_names_consistency",
    "check_inplace_ensure_writeable",
    "check_param_validation",
]
BEYOND_TRANSFORM = [
    name
    for name in dir(estimator_checks)
    if name.startswith("check_")
    and ("output_transform" in name or "feature_names_out" in name)
]


# scikit-learn's own checks fit a data frame and transform an array
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.filterwarnings("ignore:KernelPerceptron stopped before it converged")
# a selector may find no relevant feature for random labels
@pytest.mark.filterwarnings("ignore:No features were selected")
@each_instance
def test_checks_not_run_for_third_parties(estimator):
    names = BEYOND + (BEYOND_TRANSFORM if hasattr(estimator, "transform") else [])
    for name in names:
        known = hasattr(estimator_checks, name)  # older versions of scikit-learn may lack it
        if known and name not in known_failures(type(estimator)):
            getattr(estimator_checks, name)(type(estimator).__name__, clone(estimator))
    assert hasattr(estimator, "set_output") == hasattr(estimator, "transform")


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_parameter_has_default_and_constraint(cls):
    parameters = inspect.signature(cls).parameters
    assert all(p.default is not p.empty for p in parameters.values())
    assert set(cls._parameter_constraints) == set(parameters)


@each_instance
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pipeline_and_search_without_y(estimator):
    X = form(estimator, sample(60))
    steps = [] if estimator.__sklearn_tags__().input_tags.pairwise else [StandardScaler()]
    search = GridSearchCV(
        make_pipeline(*steps, clone(estimator)), {}, cv=3, error_score="raise"
    )
    if estimator.__sklearn_tags__().input_tags.positive_only:
        search.estimator.steps[0] = ("scaler", StandardScaler(with_mean=False))
    search.fit(X, target(estimator, X))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@each_setting
def test_clone_and_pickle(estimator):
    X = form(estimator, sample())
    model = fitted_to_the_sample(estimator)
    again = pickle.loads(pickle.dumps(model))
    for name, value in outputs(model, X).items():
        assert_array_equal(outputs(again, X)[name], value, err_msg=name)
    assert repr(clone(model).get_params()) == repr(estimator.get_params())


@each_instance
def test_refit_is_reproducible_and_forgets(estimator):
    X = form(estimator, sample())
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        other = form(model, sample(30, 4, seed=1))
        model.fit(other, target(model, other))
        model.fit(X, target(model, X))
        if "random_state" in model.get_params():
            once = clone(model).fit(X, target(model, X))
        else:
            once = fitted_to_the_sample(estimator)
    for name, value in outputs(once, X).items():
        assert_allclose(outputs(model, X)[name], value, rtol=1e-10, atol=1e-12, err_msg=name)


@settings_with(keeps_float32)
def test_float32_is_kept(estimator):
    X = form(estimator, sample(dtype=np.float32))
    Z = fitted(estimator, X).transform(X)
    assert Z.dtype == np.float32
    assert np.isfinite(np.asarray(Z.todense() if hasattr(Z, "todense") else Z)).all()


# Optimisers that stop far from machine precision and therefore amplify rounding errors. The
# largest observed difference is 3e-3 for MaximumVarianceUnfolding, whose gap is .01, and 5e-5 for
# SparseGaussianProcessRegressor.
MAGNIFIED_ROUNDING = {
    "MaximumVarianceUnfolding": 1e-2,
    "SparseGaussianProcessRegressor": 1e-3,
}


@each_instance
def test_read_only_memory_map(estimator, tmp_path):
    """The answer is the same, up to rounding: BLAS may sum a file's memory in another order."""
    X = form(estimator, sample())
    joblib.dump(X, tmp_path / "X.joblib")
    mapped = joblib.load(tmp_path / "X.joblib", mmap_mode="r")
    direct = fitted_to_the_sample(estimator)
    through = fitted(estimator, mapped)
    tol = MAGNIFIED_ROUNDING.get(type(estimator).__name__)
    rtol, atol = (tol, tol) if tol else (1e-10, 1e-12)
    for name, value in outputs(direct, X).items():
        assert_allclose(
            outputs(through, mapped)[name], value, rtol=rtol, atol=atol, err_msg=name
        )


@instances_with(lambda estimator: "n_jobs" in estimator.get_params())
def test_n_jobs_does_not_change_the_result(estimator):
    X = form(estimator, sample())
    one = clone(estimator).set_params(n_jobs=1)
    two = clone(estimator).set_params(n_jobs=2)
    if "random_state" in one.get_params():
        one.set_params(random_state=0)
        two.set_params(random_state=0)
    one = fitted(one, X)
    two = fitted(two, X)
    for name, value in outputs(one, X).items():
        assert_allclose(outputs(two, X)[name], value, rtol=1e-12, atol=1e-14, err_msg=name)


class StopAt:
    """Callback that interrupts, or asks to stop, at a given task."""

    def __init__(self, at, action):
        self.at = at
        self.action = action
        self.begun = 0
        self.seen = 0

    def setup(self, estimator, context):
        """Count from zero in every fit."""
        self.begun = self.seen = 0

    def teardown(self, estimator, context):
        """Nothing is held."""

    def on_fit_task_begin(self, estimator, context):
        """Count the tasks that begin."""
        self.begun += 1

    def on_fit_task_end(self, estimator, context):
        """Act at the end of the chosen task."""
        self.seen += 1
        if self.seen == self.at:
            if self.action == "interrupt":
                raise KeyboardInterrupt
            return True
        return False


@instances_with(lambda estimator: hasattr(estimator, "set_callbacks"))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_interrupt_leaves_the_estimator_as_it_was(estimator):
    X = form(estimator, sample())
    other = form(estimator, sample(30, 4, seed=1))
    model = fitted(estimator, X)
    before = outputs(model, X)
    model.set_callbacks(StopAt(1, "interrupt"))
    with pytest.raises(KeyboardInterrupt):
        model.fit(other, target(model, other))
    for name, value in before.items():
        assert_array_equal(outputs(model, X)[name], value, err_msg=name)
    fresh = clone(estimator).set_callbacks(StopAt(1, "interrupt"))
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, target(fresh, X))
    assert not hasattr(fresh, "n_features_in_")


@instances_with(lambda estimator: hasattr(estimator, "set_callbacks"))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_callback_can_stop_the_fit(estimator):
    X = form(estimator, sample())
    model = clone(estimator).set_callbacks(StopAt(1, "stop"))
    model.fit(X, target(model, X))
    for name, value in outputs(model, X).items():
        assert np.isfinite(np.asarray(value, dtype=float)).all(), name


@instances_with(lambda estimator: hasattr(estimator, "set_callbacks"))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_callback_exceptions_are_raised(estimator):
    """Raised in the first passes, in the one that converges, or at the end of the fit."""
    X = form(estimator, sample())
    counting = StopAt(np.inf, "count")
    model = clone(estimator).set_callbacks(counting)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(X, target(model, X))
    # if `break` ends a loop, the end of its task is not reported
    assert counting.begun == counting.seen > 0
    for at in sorted({1, min(2, counting.seen), max(1, counting.seen - 1), counting.seen}):
        with pytest.raises(KeyboardInterrupt):
            clone(model).set_callbacks(StopAt(at, "interrupt")).fit(X, target(model, X))


def degenerate_samples():
    X = sample()
    rank_one = np.outer(np.arange(1.0, 21), np.arange(1.0, 6))
    return {
        "one row": X[:1],
        "two rows": X[:2],
        "one column": X[:, :1],
        "constant column": np.c_[X, np.ones(len(X))],
        "duplicate columns": np.c_[X, X],
        "duplicate rows": np.repeat(X[:3], 8, axis=0),
        "all zeros": np.zeros((12, 4)),
        "all equal": np.full((12, 4), 7.0),
        "rank one": rank_one,
        "more columns than rows": sample(8, 30),
        "huge": X * 1e120,
        "tiny": X * 1e-120,
        "small in single precision": (X * 1e-30).astype(np.float32),
        "large in single precision": (X * 1e14).astype(np.float32),
        "mixed scales": X * np.logspace(-8, 8, X.shape[1]),
    }


@each_instance
@pytest.mark.parametrize("kind", degenerate_samples())
@pytest.mark.filterwarnings("ignore")  # a warning is allowed here
def test_degenerate_data_have_a_result(estimator, kind):
    """A clear ValueError, or finite numbers: never NaN, never another exception."""
    X = form(estimator, degenerate_samples()[kind])
    try:
        model = clone(estimator).fit(X, target(estimator, X))
    except ValueError as error:
        message = str(error)
        model = None
    if model is None:
        assert len(message) > 20
        return
    for name, value in outputs(model, X).items():
        assert np.isfinite(np.asarray(value, dtype=float)).all(), name
    undefined = is_regressor(estimator) and kind == "one row"  # here scikit-learn's R2 is NaN
    if hasattr(model, "score") and not undefined:
        assert not np.isnan(model.score(X, target(estimator, X)))


REFUSED = {
    "infinite": lambda X: np.where(np.arange(X.size).reshape(X.shape) == 3, np.inf, X),
    "complex": lambda X: X + 1j,
    "strings": lambda X: np.full(X.shape, "a"),
    "empty": lambda X: X[:0],
    "one-dimensional": lambda X: X[:, 0],
    "three-dimensional": lambda X: X[None],
}


@each_instance
@pytest.mark.parametrize("kind", REFUSED)
def test_bad_input_is_rejected(estimator, kind):
    X = REFUSED[kind](sample())
    with pytest.raises((ValueError, TypeError)) as caught:
        clone(estimator).fit(X)
    assert len(str(caught.value)) > 20


@each_setting
def test_fitted_attributes_are_documented(estimator):
    documented = {
        part.strip()
        for attribute in FunctionDoc(type(estimator), doc=inspect.getdoc(type(estimator)))[
            "Attributes"
        ]
        for part in attribute.name.split(",")
    }

    real = {
        name
        for name in vars(fitted_to_the_sample(estimator))
        if name.endswith("_") and not name.startswith("_")
    }

    inherited = {"n_features_in_", "feature_names_in_"}
    assert real - inherited <= documented
    # each documented attribute exists on at least one instance
    missing = [
        name
        for name in documented - inherited
        if not any(
            hasattr(fitted_to_the_sample(other), name)
            for other in SETTINGS
            if type(other) is type(estimator)
        )
    ]

    assert missing == []
