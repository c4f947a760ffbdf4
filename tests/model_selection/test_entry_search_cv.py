"""Evidence that EntrySearchCV hides each known entry once, and chooses what predicts it."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.decomposition import ProbabilisticLSA, RobustPCA, SemiNMF, SparseNMF
from skmoderndata.exceptions import DoubtfulResultWarning
from skmoderndata.impute import NuclearNormImputer
from skmoderndata.model_selection import EntrySearchCV, EntrySearchDisplay
from skmoderndata.model_selection._entry_search_cv import SCORES, entry_folds
from skmoderndata.preprocessing import TimeDelayEmbedding


def mixtures(n=60, p=12, k=3, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.gamma(1, size=(n, k)) @ rng.normal(size=(k, p))
    return X + noise * rng.normal(size=(n, p))


class Means(TransformerMixin, BaseEstimator):
    """Predicts weighted means of the columns, `scale` times; counts its fits."""

    def __init__(self, scale=1.0, refuse=False):
        self.scale = scale
        self.refuse = refuse

    def fit(self, X, y=None, *, entry_weight=None, sample_weight=None):
        if self.refuse:
            raise ValueError("no fit today")
        W = np.ones(np.shape(X)) if entry_weight is None else entry_weight
        if sample_weight is not None:
            W = W * np.asarray(sample_weight)[:, None]
        X = np.asarray(X, dtype=float)
        W = np.where(np.isnan(X), 0, W)
        self.means_ = np.nansum(W * X, axis=0) / W.sum(axis=0)
        self.n_features_in_ = X.shape[1]
        return self

    def fit_transform(self, X, y=None, **params):
        return self.fit(X, **params).transform(X)

    def transform(self, X):
        return np.ones((len(X), 1))

    def inverse_transform(self, X):
        return self.scale * np.asarray(X) * self.means_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


# ---- folds -------------------------------------------------------------------------------------


@pytest.mark.invariance
@pytest.mark.parametrize("shape", [(2, 2), (3, 50), (50, 2), (40, 7), (1, 9), (30, 30)])
@pytest.mark.parametrize("known_share", [0.15, 0.6, 1.0])
@pytest.mark.parametrize("n_folds", [2, 5])
def test_folds_partition_and_leave_every_row_and_column(shape, known_share, n_folds, seed):
    rng = np.random.RandomState(seed)
    known = rng.random_sample(shape) < known_share

    fold = entry_folds(known, n_folds, rng)

    assert_array_equal(fold[~known], -1)
    for k in range(n_folds):
        left = known & (fold != k)
        for axis in (0, 1):
            assert_array_equal(left.any(axis=axis), known.any(axis=axis))


@pytest.mark.invariance
def test_folds_of_a_full_table_have_equal_sizes():
    fold = entry_folds(np.ones((30, 20), dtype=bool), 5, np.random.RandomState(0))
    assert_array_equal(np.bincount(fold.ravel()), 120)


@pytest.mark.oracle
def test_scores_of_plain_loops():
    X = mixtures(20, 5)
    X[3, 2] = X[7, 0] = np.nan
    search = EntrySearchCV(Means(), {"scale": [0.0, 0.5, 1.0]}, cv=3, random_state=0).fit(X)

    rng = np.random.RandomState(0)
    fold = entry_folds(~np.isnan(X), 3, rng)
    for index, scale in enumerate((0.0, 0.5, 1.0)):
        for k in range(3):
            total = count = 0.0
            for i, j in zip(*np.nonzero(fold == k), strict=True):
                column = [X[r, j] for r in range(20) if fold[r, j] != k and X[r, j] == X[r, j]]
                total += (X[i, j] - scale * np.mean(column)) ** 2
                count += 1
            ours = search.cv_results_[f"split{k}_test_score"][index]
            assert_allclose(ours, -total / count)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "one"),
    [
        ("neg_mean_squared_error", lambda t, e: -((t - e) ** 2)),
        ("neg_mean_absolute_error", lambda t, e: -abs(t - e)),
        ("boolean_error", lambda t, e: -float((t > 0.5) != (e > 0.5))),
        ("neg_log_loss", lambda t, e: np.log(e) if t > 0.5 else np.log(1 - e)),
        ("neg_kl", lambda t, e: -((t * np.log(t / e) if t else 0.0) - t + e)),
    ],
)
def test_losses(name, one):
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, 30).astype(float)
    expected = rng.uniform(0.05, 0.95, 30)
    weight = rng.random(30)
    plain = sum(w * one(t, e) for t, e, w in zip(true, expected, weight, strict=True))
    assert_allclose(SCORES[name](true, expected, weight), plain / weight.sum())


# ---- choice ------------------------------------------------------------------------------------


@pytest.mark.recovery
@pytest.mark.parametrize("estimator", [SemiNMF(random_state=0), RobustPCA()])
def test_planted_number_of_components(estimator, seed):
    search = EntrySearchCV(estimator, {"n_components": [1, 2, 3, 4, 5]}, random_state=seed)
    assert search.fit(mixtures(100, 20, seed=seed)).best_params_ == {"n_components": 3}


@pytest.mark.slow
@pytest.mark.recovery
@pytest.mark.parametrize("case", ["SparseNMF", "SemiNMF", "RobustPCA", "DiscreteBasis"])
def test_planted_numbers_of_the_page(case):
    from benchmarks.entry_search import CASES

    model = CASES[case]
    chosen = [
        next(
            iter(
                EntrySearchCV(model.estimator, model.grid, random_state=s)
                .fit(X)
                .best_params_.values()
            )
        )
        for s, X in ((s, model.table(s)) for s in range(20))
    ]
    assert chosen.count(model.planted) >= model.least


@pytest.mark.recovery
def test_components_of_scikit_learn_after_an_imputer():
    pipe = make_pipeline(StandardScaler(), SimpleImputer(), PCA())
    grid = {"pca__n_components": [1, 2, 3, 4, 5]}
    search = EntrySearchCV(pipe, grid, random_state=0).fit(mixtures(100, 20))
    assert search.best_params_ == {"pca__n_components": 3}


@pytest.mark.recovery
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (KNNImputer(), {"n_neighbors": [1, 5]}),
        pytest.param(NuclearNormImputer(), {"n_components": [1, 3]}, marks=pytest.mark.full),
        (make_pipeline(StandardScaler(), NuclearNormImputer()), {}),
    ],
)
def test_imputers_fill_hidden_entries(estimator, grid):
    X = mixtures(100, 20)
    search = EntrySearchCV(estimator, grid, random_state=0).fit(X)
    assert search.best_score_ > -X.var()


@pytest.mark.oracle
def test_rule_chooses_the_smallest_model_within_one_standard_error():
    X = mixtures(100, 20)
    grid = {"n_components": [5, 4, 3, 2], "ridge": [0.0]}
    search = EntrySearchCV(SemiNMF(random_state=0), grid, random_state=0).fit(X)
    results = search.cv_results_
    sizes = np.array([params["n_components"] for params in results["params"]])
    best = results["mean_test_score"].argmax()
    within = (
        results["mean_test_score"]
        >= results["mean_test_score"][best] - results["standard_error"][best]
    )

    assert search.best_params_["n_components"] == sizes[within].min()
    splits = np.stack([results[f"split{k}_test_score"] for k in range(5)])
    assert_allclose(results["standard_error"], splits.std(axis=0, ddof=1) / np.sqrt(5))
    assert_allclose(results["mean_test_score"], splits.mean(axis=0))

    search.set_params(rule="best").fit(X)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1


@pytest.mark.edge
class Exploding(TransformerMixin, BaseEstimator):
    """Predict `error` everywhere, and `peak` where the first entry is hidden."""

    def __init__(self, n_components=1, error=1.0, peak=None):
        self.n_components = n_components
        self.error = error
        self.peak = peak

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        off = self.error
        if self.peak is not None and np.isnan(X[0, 0]):
            off = self.peak
        return np.full_like(X, off)

    def inverse_transform(self, X):
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@pytest.mark.edge
def test_one_exploded_fold_does_not_determine_the_choice():
    X = np.random.default_rng(0).normal(size=(20, 6))
    grid = [
        {"n_components": [1], "error": [9.0]},
        {"n_components": [3], "error": [0.1], "peak": [15.0]},
        {"n_components": [4], "error": [20.0]},
    ]
    search = EntrySearchCV(Exploding(), grid, random_state=0)
    with pytest.warns(DoubtfulResultWarning, match="for 1 of 3 candidates.*'n_components': 3"):
        search.fit(X)
    # with its standard error as the margin, the smallest candidate would be chosen
    errors = search.cv_results_["standard_error"]
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] > scores[1] - errors[1]
    assert search.best_params_["n_components"] == 3


@pytest.mark.edge
def test_tiny_errors_of_any_ratio_are_not_explosions():
    X = np.random.default_rng(0).normal(size=(20, 6))
    X[0, 0] = 0.0
    grid = {"n_components": [1], "error": [0.0], "peak": [1e-3]}
    EntrySearchCV(Exploding(), grid, scoring=lambda t, e, w: -np.mean(np.abs(e)) - 1e-9).fit(X)


def test_without_a_size_the_first_in_the_grid_wins_ties():
    X = mixtures(30, 6)
    search = EntrySearchCV(Means(), {"refuse": [False], "scale": [1.0, 1.0]}).fit(X)
    assert search.best_index_ == 0


# ---- weights and arguments ---------------------------------------------------------------------


@pytest.mark.oracle
def test_weights_reach_the_fit_and_the_score():
    X = mixtures(20, 5)
    weight = np.random.default_rng(1).integers(0, 3, X.shape).astype(float)
    search = EntrySearchCV(Means(), {"scale": [1.0]}, cv=2, random_state=0)
    search.fit(X, entry_weight=weight)

    fold = entry_folds(weight > 0, 2, np.random.RandomState(0))
    for k in range(2):
        left = np.where(fold != k, weight, 0)
        means = (left * X).sum(axis=0) / left.sum(axis=0)
        errors = np.where(fold == k, weight * (X - means) ** 2, 0)
        expected = -errors.sum() / weight[fold == k].sum()
        assert_allclose(search.cv_results_[f"split{k}_test_score"][0], expected)
    assert_allclose(search.best_estimator_.means_, (weight * X).sum(0) / weight.sum(0))


@pytest.mark.invariance
def test_weight_zero_is_unknown_and_one_changes_nothing():
    X = mixtures(20, 5)
    gaps = np.random.default_rng(1).random(X.shape) < 0.1
    search = EntrySearchCV(Means(), {"scale": [0.5, 1.0]}, random_state=0)
    plain = search.fit(X).cv_results_["mean_test_score"]
    ones = search.fit(X, entry_weight=np.ones(X.shape)).cv_results_["mean_test_score"]
    assert_allclose(ones, plain)

    with_gaps = search.fit(np.where(gaps, np.nan, X)).cv_results_["mean_test_score"]
    weighted = search.fit(X, entry_weight=1.0 - gaps).cv_results_["mean_test_score"]
    assert_allclose(weighted, with_gaps)


@pytest.mark.edge
def test_weights_go_to_the_last_step_of_a_pipeline():
    X = mixtures(20, 5)
    weight = np.random.default_rng(1).random(X.shape)
    search = EntrySearchCV(make_pipeline(StandardScaler(), Means()), {"means__scale": [1.0]})
    assert search.fit(X, entry_weight=weight).best_score_ > -X.var()


@pytest.mark.edge
@pytest.mark.parametrize("routing", [False, True])
def test_arguments_of_the_fit_are_routed(routing):
    X = mixtures(20, 5)
    weight = np.arange(20.0)
    estimator = Means()
    with sklearn.config_context(enable_metadata_routing=routing):
        if routing:
            estimator = Means().set_fit_request(sample_weight=True)
        search = EntrySearchCV(estimator, {"scale": [1.0]}).fit(X, sample_weight=weight)
    assert_allclose(search.best_estimator_.means_, np.average(X, axis=0, weights=weight))


# ---- composition -------------------------------------------------------------------------------


@pytest.mark.edge
def test_delegated_methods_clone_pickle_and_output():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(mixtures(40, 6), columns=list("abcdef"))
    search = EntrySearchCV(SemiNMF(random_state=0), {"n_components": [1, 3]}, random_state=0)
    with pytest.raises(NotFittedError):
        search.transform(X)

    codes = search.set_output(transform="pandas").fit_transform(X)
    assert isinstance(codes, pandas.DataFrame)
    assert codes.shape == (40, search.best_params_["n_components"])
    assert list(search.get_feature_names_out()) == list(codes.columns)
    assert_array_equal(search.feature_names_in_, list("abcdef"))
    assert search.n_features_in_ == 6
    assert np.shape(search.inverse_transform(codes)) == (40, 6)
    assert np.isfinite(search.score(X))

    again = pickle.loads(pickle.dumps(search))
    assert_array_equal(again.transform(X), codes)
    assert not hasattr(clone(search), "best_params_")
    assert not hasattr(EntrySearchCV(Means(), {}), "predict")


@pytest.mark.edge
def test_data_frames_stay_data_frames_in_the_folds():
    pandas = pytest.importorskip("pandas")

    class NeedsNames(Means):
        def fit(self, X, y=None, **params):
            assert list(X.columns) == ["a", "b", "c"]
            return super().fit(X, **params)

    X = pandas.DataFrame(mixtures(20, 3), columns=["a", "b", "c"])
    with_names = EntrySearchCV(NeedsNames(), {"scale": [1.0]}, random_state=0).fit(X)
    plain = EntrySearchCV(Means(), {"scale": [1.0]}, random_state=0).fit(X.to_numpy())
    assert_allclose(with_names.best_score_, plain.best_score_)


@pytest.mark.invariance
def test_jobs_and_repetition_change_nothing():
    X = mixtures(40, 8)
    grid = {"n_components": [1, 2, 3]}
    one, two, again = (
        EntrySearchCV(SparseNMF(), grid, n_jobs=n, random_state=3).fit(np.abs(X))
        for n in (1, 2, 1)
    )
    for other in (two, again):
        assert_array_equal(
            one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
        )
        assert_array_equal(one.best_estimator_.components_, other.best_estimator_.components_)
    assert one.estimator.random_state is None


@pytest.mark.edge
def test_without_refit():
    X = 5 + mixtures(20, 5)
    search = EntrySearchCV(Means(), {"scale": [0.5, 1.0]}, refit=False).fit(X)
    assert search.best_params_ == {"scale": 1.0}
    assert not hasattr(search, "best_estimator_")
    assert search.n_features_in_ == 5
    with pytest.raises(AttributeError, match="has no attribute 'transform'") as error:
        search.transform(X)
    assert "set refit=True" in str(error.value.__cause__)


@pytest.mark.edge
def test_custom_folds():
    X = mixtures(20, 5)
    hidden = np.zeros(X.shape, dtype=bool)
    hidden[:5, :2] = True
    search = EntrySearchCV(Means(), {"scale": [1.0]}, cv=[hidden]).fit(X)
    expected = -np.mean((X[:5, :2] - X[5:, :2].mean(axis=0)) ** 2)
    assert_allclose(search.best_score_, expected)
    assert search.n_splits_ == 1
    with pytest.raises(ValueError, match=r"Boolean arrays of X's shape, \(20, 5\)"):
        EntrySearchCV(Means(), {}, cv=[hidden[:3]]).fit(X)


@pytest.mark.edge
def test_custom_scores_and_scores_by_kind():
    X = mixtures(20, 5)
    search = EntrySearchCV(
        Means(), {"scale": [0.0, 1.0]}, scoring=lambda t, e, w: -abs(e).sum()
    )
    assert search.fit(X).best_params_ == {"scale": 0.0}
    assert EntrySearchCV(Means(), {}).fit(X).scoring_ == "neg_mean_squared_error"
    assert EntrySearchCV(RobustPCA(), {}).fit(X).scoring_ == "neg_mean_absolute_error"


# ---- what cannot be searched -------------------------------------------------------------------


@pytest.mark.edge
@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (PCA(2), "PCA rejects NaN.*imputer before it.*SparseNMF"),
        (make_pipeline(StandardScaler(), PCA(2)), "PCA rejects NaN"),
        (StandardScaler(), "StandardScaler leaves NaN in place of hidden entries.*SparseNMF"),
        (TimeDelayEmbedding(2), "leaves NaN in place of hidden entries"),
        (ProbabilisticLSA(2), "ProbabilisticLSA returns distributions of words, not counts"),
    ],
)
def test_rejects_estimators_without_predictions_of_hidden_entries(estimator, message):
    with pytest.raises(ValueError, match=message):
        EntrySearchCV(estimator, {}).fit(np.abs(mixtures(20, 5)))


@pytest.mark.edge
def test_error_names_bad_input():
    X = mixtures(20, 5)
    grid = {"scale": [1.0]}
    with pytest.raises(ValueError, match=r"too few known entries: 4 for 5 folds.*fewer folds"):
        EntrySearchCV(Means(), grid).fit(X[:2, :2])
    with pytest.raises(ValueError, match=r"pass X.toarray\(\)"):
        EntrySearchCV(Means(), grid).fit(sparse.csr_array(X))
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        EntrySearchCV(Means(), {"depth": [1]}).fit(X)
    with pytest.raises(ValueError, match="of at least 0 in the shape of X"):
        EntrySearchCV(Means(), grid).fit(X, entry_weight=-np.ones(X.shape))
    with pytest.raises(ValueError, match="of at least 0 in the shape of X"):
        EntrySearchCV(Means(), grid).fit(X, entry_weight=np.ones((20, 4)))
    with pytest.raises(ValueError, match="fit of KNNImputer does not accept entry_weight"):
        EntrySearchCV(KNNImputer(), {}).fit(X, entry_weight=np.ones(X.shape))
    with pytest.raises(ValueError, match="'scoring' parameter"):
        EntrySearchCV(Means(), grid, scoring="r2").fit(X)


@pytest.mark.edge
@pytest.mark.filterwarnings(
    "ignore:EntrySearchCV cannot fit:sklearn.exceptions.FitFailedWarning"
)
@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_fit_and_transform_reject_single_precision_alike(scale):
    X = (scale * np.random.default_rng(0).random((20, 6))).astype(np.float32)
    search = EntrySearchCV(SparseNMF(), {"n_components": [1, 2]})
    with pytest.raises(ValueError, match="in single precision"):
        search.fit(X)
    search.fit(X.astype(float)).transform(X.astype(float))


@pytest.mark.invariance
def test_fits_have_the_precision_of_the_table():
    X = np.random.default_rng(0).random((20, 6)).astype(np.float32)
    search = EntrySearchCV(SparseNMF(), {"n_components": [1]})
    assert search.fit(X).best_estimator_.components_.dtype == np.float32
    assert search.fit(X.astype(float)).best_estimator_.components_.dtype == np.float64


@pytest.mark.edge
def test_failing_candidates_are_excluded_with_a_warning():
    X = mixtures(20, 5)
    search = EntrySearchCV(Means(), {"refuse": [True, False]})
    with pytest.warns(FitFailedWarning, match="cannot fit {'refuse': True}.*no fit today"):
        search.fit(X)
    assert search.best_params_ == {"refuse": False}
    assert np.isnan(search.cv_results_["mean_test_score"][0])
    assert_array_equal(search.cv_results_["rank_test_score"], [2, 1])

    with (
        pytest.warns(FitFailedWarning),
        pytest.raises(ValueError, match=r"None of the candidates.*ValueError: no fit today"),
    ):
        EntrySearchCV(Means(), {"refuse": [True]}).fit(X)
    with pytest.raises(ValueError, match="All candidates scored NaN"):
        EntrySearchCV(Means(), {}, scoring=lambda true, expected, weight: np.nan).fit(X)


@pytest.mark.edge
def test_warns_once_about_fits_that_end_early():
    X = mixtures(20, 5)
    search = EntrySearchCV(SemiNMF(max_iter=1), {"n_components": [2, 3]}, cv=3, refit=False)
    with pytest.warns(ConvergenceWarning) as told:
        search.fit(X)
    assert len(told) == 1
    assert str(told[0].message).startswith("6 warnings that fits ended before they converged")


@pytest.mark.edge
def test_an_interrupted_search_keeps_the_last_one():
    X = mixtures(20, 5)

    class Stops(Means):
        def fit(self, X, y=None, **params):
            if self.scale == 2.0:
                raise KeyboardInterrupt
            return super().fit(X, **params)

    search = EntrySearchCV(Stops(), {"scale": [1.0]}, random_state=0).fit(X)
    before = search.best_score_
    with pytest.raises(KeyboardInterrupt):
        search.set_params(param_grid={"scale": [1.0, 2.0]}).fit(X)
    assert search.best_score_ == before
    assert search.transform(X).shape == (20, 1)


@pytest.mark.edge
def test_callers_table_is_unchanged():
    X = mixtures(20, 5)
    X.flags.writeable = False
    before = X.copy()
    EntrySearchCV(SemiNMF(), {"n_components": [1, 2]}).fit(X)
    assert_array_equal(X, before)


# ---- picture -----------------------------------------------------------------------------------


def test_display():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    grid = {"n_components": [1, 2, 3, 4], "random_state": [0]}
    search = EntrySearchCV(SemiNMF(), grid, random_state=0).fit(mixtures(60, 12, noise=0.1))
    display = EntrySearchDisplay.from_estimator(search)
    x, y = display.errorbar_.lines[0].get_data()
    assert_array_equal(x, [1, 2, 3, 4])
    assert_allclose(y, search.cv_results_["mean_test_score"])
    assert display.chosen_line_.get_xdata() == [search.best_params_["n_components"]]
    assert display.ax_.get_xlabel() == "n_components"
    named = EntrySearchDisplay.from_estimator(search, ax=display.ax_, label="SemiNMF")
    texts = [text.get_text() for text in named.ax_.get_legend().get_texts()]
    assert texts == ["3 chosen", "SemiNMF: 3 chosen"]

    search.set_params(param_grid={"n_components": [1, 2], "max_iter": [300, 500]}).fit(
        mixtures()
    )
    with pytest.raises(ValueError, match="select one with param_name"):
        EntrySearchDisplay.from_estimator(search)
    display = EntrySearchDisplay.from_estimator(search, param_name="max_iter")
    assert display.values == [300, 500]
    with pytest.raises(ValueError, match="'depth' is not a parameter"):
        EntrySearchDisplay.from_estimator(search, param_name="depth")


# ---- messages ----------------------------------------------------------------------------------


@pytest.mark.edge
def test_verbose_estimates_the_time_left(capsys):
    X = mixtures(20, 5)
    grid = {"scale": [0.9, 1.0, 1.1]}
    EntrySearchCV(Means(), grid, verbose=1, random_state=0).fit(X)
    printed = capsys.readouterr()
    assert printed.out == ""
    first, second, last = printed.err.splitlines()
    assert first.startswith("EntrySearchCV: 1 of 3 candidates in ")
    assert "left" in first
    assert "left" in second
    assert last.startswith("EntrySearchCV: 3 of 3 candidates in ")
    assert "left" not in last

    EntrySearchCV(Means(), grid, random_state=0).fit(X)
    assert capsys.readouterr().err == ""


@pytest.mark.edge
@pytest.mark.parametrize(
    ("numbers", "end"),
    [([1, 1, 2, 3], "largest"), ([4, 5, 6], "smallest"), ([2, 3], ""), ([3, 3], "")],
)
def test_warns_if_the_best_number_is_the_end_of_the_grid(numbers, end):
    grid = [{"n_components": numbers[:2]}, {"n_components": numbers[2:] or [2]}]
    search = EntrySearchCV(SemiNMF(), grid, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(mixtures())
    messages = [str(one.message) for one in caught if "param_grid" in str(one.message)]
    chosen = search.best_params_["n_components"]
    assert len(messages) == bool(end)
    if end:
        assert f"n_components={chosen}, the {end} value in param_grid" in messages[0]
        assert caught[0].category is DoubtfulResultWarning


@pytest.mark.edge
def test_is_silent_if_the_end_of_the_grid_is_natural():
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # check a single component, as many components as columns, and other parameters
        rank_one = rng.gamma(1, size=(40, 1)) @ rng.normal(size=(1, 8))
        X = rank_one + 0.1 * rng.normal(size=(40, 8))
        EntrySearchCV(SemiNMF(), {"n_components": [1, 2, 3]}, random_state=0).fit(X)
        full = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
        EntrySearchCV(SemiNMF(), {"n_components": [1, 2, 3]}, rule="best", random_state=0).fit(
            full
        )
        EntrySearchCV(Means(), {"scale": [0.5, 0.9, 1.0]}, random_state=0).fit(mixtures())
