"""Evidence that RegularizedCCA with confounders solves the problem of the residuals."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

from skmoderndata.cross_decomposition import RegularizedCCA
from tests.oracles.regularized_cca import residuals


def confounded(seed, n=90, p=4, q=3, r=2, relation=0.0):
    """Two views that depend on r confounders, and correlate otherwise by `relation`."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, r)) * [1, 1e3][:r] + 50
    X = rng.normal(size=(n, p))
    Y = rng.normal(size=(n, q))
    Y[:, 0] += relation * X[:, 0]
    effect = (Z - 50) / [1, 1e3][:r]
    return X + 2 * effect @ rng.normal(size=(r, p)), Y + 2 * effect @ rng.normal(
        size=(r, q)
    ), Z  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_equals_the_analysis_of_residuals(seed, alpha, weighted):
    X, Y, Z = confounded(seed, relation=1.0)
    w = np.random.default_rng(seed).integers(0, 3, len(X)).astype(float) if weighted else None
    model = RegularizedCCA(2, alpha=alpha).fit(X, Y, sample_weight=w, confounders=Z)
    left = [residuals(view, Z, w) for view in (X, Y)]
    plain = RegularizedCCA(2, alpha=alpha).fit(*left, sample_weight=w)
    assert_allclose(
        model.regularized_correlations_, plain.regularized_correlations_, rtol=1e-8
    )
    scores = model.transform(X, Y, confounders=Z)
    for found, expected in zip(scores, plain.transform(*left), strict=True):
        assert_allclose(found, expected, atol=1e-8)
    assert_allclose(
        model.score(X, Y, sample_weight=w, confounders=Z),
        plain.score(*left, sample_weight=w),
        rtol=1e-8,
    )


@pytest.mark.oracle
def test_first_correlation_is_the_partial_correlation(seed):
    X, Y, Z = confounded(seed, p=1, q=1, relation=0.5)
    model = RegularizedCCA(1, alpha=0).fit(X, Y, confounders=Z)
    # the partial correlation from the inverse of the covariance of all columns
    P = np.linalg.inv(np.cov(np.c_[X, Y, Z / Z.std(axis=0)].T))
    expected = abs(P[0, 1]) / np.sqrt(P[0, 0] * P[1, 1])
    assert_allclose(model.correlations_, [expected], rtol=1e-8)


@pytest.mark.oracle
def test_predict_with_all_pairs_is_regression_on_view_and_confounders(seed):
    X, Y, Z = confounded(seed, relation=1.0)
    new, _, new_Z = confounded(seed + 1)
    model = RegularizedCCA(3, alpha=0).fit(X, Y, confounders=Z)
    both = LinearRegression().fit(np.c_[X, Z], Y)
    assert_allclose(model.predict(new, confounders=new_Z), both.predict(np.c_[new, new_Z]))
    single = RegularizedCCA(1, alpha=0).fit(X, Y[:, 0], confounders=Z)
    assert_allclose(
        single.predict(new, confounders=new_Z), both.predict(np.c_[new, new_Z])[:, 0]
    )


@pytest.mark.recovery
def test_relation_by_the_confounders_disappears():
    X, Y, Z = confounded(0, n=400)
    new = confounded(0, n=800)
    new_X, new_Y, new_Z = (table[400:] for table in new)
    X, Y, Z = (table[:400] for table in new)
    plain = RegularizedCCA(1).fit(X, Y)
    assert plain.score(new_X, new_Y) > 0.7
    partial = RegularizedCCA(1).fit(X, Y, confounders=Z)
    assert abs(partial.score(new_X, new_Y, confounders=new_Z)) < 0.15


@pytest.mark.invariance
def test_units_origin_and_copies_of_confounders_do_not_matter(seed):
    X, Y, Z = confounded(seed, relation=1.0)
    once = RegularizedCCA(2, alpha=0.1).fit(X, Y, confounders=Z)
    expected = once.transform(X, Y, confounders=Z)
    for other in (1e-6 * Z + 1, 1e6 * Z, np.c_[Z, Z.sum(axis=1), np.full(len(Z), 7.0)]):
        model = RegularizedCCA(2, alpha=0.1).fit(X, Y, confounders=other)
        for a, b in zip(model.transform(X, Y, confounders=other), expected, strict=True):
            assert_allclose(a, b, atol=1e-7)


@pytest.mark.invariance
def test_forms_of_input_agree(seed):
    X, Y, Z = confounded(seed, relation=1.0)
    expected = RegularizedCCA(2, alpha=0.1).fit_transform(X, Y, confounders=Z)
    model = RegularizedCCA(2, alpha=0.1, view_slices=[(0, 4), (4, 7)])
    assert_allclose(
        model.fit_transform(np.hstack([X, Y]), confounders=Z), np.hstack(expected), atol=1e-10
    )
    column = RegularizedCCA(2, alpha=0.1).fit(X, Y, confounders=Z[:, 0])
    table = RegularizedCCA(2, alpha=0.1).fit(X, Y, confounders=Z[:, :1])
    assert_allclose(column.x_weights_, table.x_weights_)
    single = RegularizedCCA(2, alpha=0.1).fit(
        X.astype(np.float32), Y.astype(np.float32), confounders=Z
    )
    scores = single.transform(X.astype(np.float32), confounders=Z)
    assert scores.dtype == np.float32
    assert_allclose(scores, expected[0], atol=1e-3)  # the input was rounded


@pytest.mark.recovery
def test_missing_views_with_confounders():
    X, Y, Z = confounded(0, relation=2.0)
    X[:10] = np.nan
    model = RegularizedCCA(1, alpha=0.1, criterion="gcca").fit(X, Y, confounders=Z)
    plain = RegularizedCCA(1, alpha=0.1, criterion="gcca")
    left = residuals(Y, Z)
    left_X = np.full_like(X, np.nan)
    left_X[10:] = residuals(X[10:], Z[10:])
    plain.fit(left_X, left)
    assert_allclose(np.abs(model.consensus_), np.abs(plain.consensus_), atol=1e-6)
    assert np.isnan(model.transform(X, confounders=Z)[:10]).all()


@pytest.mark.edge
def test_a_column_that_the_confounders_explain_has_no_weight(seed):
    X, Y, Z = confounded(seed, relation=1.0)
    expected = RegularizedCCA(2, alpha=0.1).fit(X, Y, confounders=Z)
    more = np.c_[X, 1e4 + Z @ [1, 1e-3]]
    model = RegularizedCCA(2, alpha=0.1).fit(more, Y, confounders=Z)
    assert_allclose(model.correlations_, expected.correlations_, rtol=1e-8)
    assert_allclose(model.x_weights_[-1], 0, atol=1e-12)
    with pytest.raises(ValueError, match="explain all columns of view 1"):
        RegularizedCCA(1).fit(Z, Y, confounders=Z)


@pytest.mark.edge
def test_without_penalty_the_confounders_count():
    rng = np.random.default_rng(0)
    X, Y, Z = (rng.normal(size=(20, p)) for p in (5, 4, 10))
    RegularizedCCA(1, alpha=0).fit(X, Y)
    with pytest.raises(ValueError, match="confounders use up 10 more"):
        RegularizedCCA(1, alpha=0).fit(np.c_[X, X**2], Y, confounders=Z)


@pytest.mark.edge
def test_confounders_are_required_in_all_methods():
    X, Y, Z = confounded(0)
    model = RegularizedCCA(1, alpha=0.1).fit(X, Y, confounders=Z)
    for call in (model.transform, model.predict):
        with pytest.raises(ValueError, match="fitted with 2 confounders: pass"):
            call(X)
    with pytest.raises(ValueError, match="fitted with 2 confounders: pass"):
        model.score(X, Y)
    with pytest.raises(ValueError, match="2 confounders but received 1"):
        model.transform(X, confounders=Z[:, 0])
    with pytest.raises(ValueError, match="confounders has 5 rows"):
        model.transform(X, confounders=Z[:5])
    with pytest.raises(ValueError, match="of scikit-learn do not accept"):
        model.to_sklearn()
    plain = RegularizedCCA(1, alpha=0.1).fit(X, Y)
    assert plain.confounder_coef_ is None
    with pytest.raises(ValueError, match="without confounders"):
        plain.transform(X, confounders=Z)
    Z[3, 1] = np.nan
    with pytest.raises(ValueError, match="confounders contains NaN"):
        model.fit(X, Y, confounders=Z)
    with pytest.raises(TypeError, match="toarray"):
        model.fit(sparse.csr_array(X), sparse.csr_array(Y), confounders=confounded(0)[2])


@pytest.mark.invariance
def test_search_with_metadata_routing():
    X, Y, Z = confounded(0, relation=1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        cca = RegularizedCCA(1, view_slices=[(0, 4), (4, 7)])
        cca.set_fit_request(confounders=True).set_score_request(confounders=True)
        search = GridSearchCV(cca, {"alpha": [0.1, 0.9]}, cv=3)
        search.fit(np.hstack([X, Y]), confounders=Z)
        train = np.arange(30, 90)
        test = np.arange(30)
        first = RegularizedCCA(1, alpha=0.1).fit(X[train], Y[train], confounders=Z[train])
        expected = first.score(X[test], Y[test], confounders=Z[test])
    assert_allclose(search.cv_results_["split0_test_score"][0], expected, rtol=1e-8)
