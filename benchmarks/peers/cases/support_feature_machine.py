"""Which features matter, and how well do they predict?"""

from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, Target, at_least, at_most

N_SAMPLES, N_INFORMATIVE, MARGIN, N_DRAWS = 100, 5, 0.3, 10


class Draw(NamedTuple):
    """Training data, and the hyperplane that labels them."""

    X: np.ndarray
    y: np.ndarray
    coef: np.ndarray


class Linear(NamedTuple):
    """Weights and intercept."""

    w: np.ndarray
    b: float


def work(size, rng):
    from skmoderndata.datasets import make_sparse_classes

    n_features, n_draws = size
    return [
        Draw(
            *make_sparse_classes(
                N_SAMPLES,
                n_features,
                n_informative=N_INFORMATIVE,
                margin=MARGIN,
                random_state=int(seed),
            )
        )
        for seed in rng.integers(2**31, size=n_draws)
    ]


def quality(draws, models):
    """Features against the truth, errors on 2000 new samples for each draw."""
    exact, sizes, errors = 0, [], []
    rng = np.random.default_rng(0)
    for draw, model in zip(draws, models, strict=True):
        relevant, kept = np.flatnonzero(draw.coef), np.flatnonzero(model.w)
        exact += np.array_equal(relevant, kept)
        sizes.append(kept.size)
        # only columns that someone looks at are drawn
        columns = np.union1d(relevant, kept)
        X = rng.standard_normal((2000, columns.size))
        side = np.sign(X @ draw.coef[columns])
        X += MARGIN * np.outer(side, draw.coef[columns])
        errors.append(100 * np.mean(np.sign(X @ model.w[columns] + model.b) != side))

    return {
        "exact": exact,
        "features": float(np.mean(sizes)),
        "error": float(np.mean(errors)),
        "worst error": float(np.max(errors)),
    }


def machine(**settings):
    def run(draws):
        from skmoderndata.svm import SupportFeatureMachine

        models = [SupportFeatureMachine(**settings).fit(draw.X, draw.y) for draw in draws]
        return [Linear(model.coef_[0], float(model.intercept_[0])) for model in models]

    return run


def l1_machine(draws):
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    svc = LinearSVC(penalty="l1", dual=False, max_iter=10_000)
    grid = {"C": np.logspace(-1.5, 0.5, 5)}
    found = []
    for draw in draws:
        best = GridSearchCV(svc, grid, cv=5).fit(draw.X, draw.y).best_estimator_
        found.append(Linear(best.coef_[0], float(best.intercept_[0])))
    return found


def elimination(draws):
    from sklearn.feature_selection import RFE
    from sklearn.svm import LinearSVC

    found = []
    for draw in draws:
        svc = LinearSVC(dual=True, max_iter=10_000)
        rfe = RFE(svc, n_features_to_select=N_INFORMATIVE, step=0.1).fit(draw.X, draw.y)
        w = np.zeros(draw.X.shape[1])
        w[rfe.support_] = rfe.estimator_.coef_[0]
        found.append(Linear(w, float(rfe.estimator_.intercept_[0])))
    return found


def best_subset(draws):
    from abess import LogisticRegression

    found = []
    for draw in draws:
        model = LogisticRegression(support_size=range(12)).fit(draw.X, draw.y)
        found.append(Linear(np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])))
    return found


def _fewer_than_l1(rows):
    rivals = [row for row in rows if row.contender == "L1-SVM" and row.quality]
    if not rivals:
        return None, "not measured"
    sizes = ", ".join(f"{row.quality['features']:.3g}" for row in rivals)
    errors = ", ".join(f"{row.quality['error']:.2g} %" for row in rivals)
    return True, f"features {sizes}; error {errors}"


QUICK = {"100 x 300, 3 draws": (300, 3)}

CASE = Case(
    title="Support feature machine: relevant features",
    question=(
        "Which of 100, 1,000 and 10,000 features matter, when 100 samples are known and five "
        "features make the classes?"
    ),
    remarks=(
        f"{N_DRAWS} draws of `make_sparse_classes(100, p, n_informative=5, margin={MARGIN})`: "
        "standard normal features, labels by a hyperplane of five of them, from which samples "
        "keep a distance. Errors in per cent on 2000 new samples for each draw. Times are those "
        "of all draws, cross-validation included where there is one."
    ),
    ours="SupportFeatureMachine",
    sizes={f"100 x {p:,}": (p, N_DRAWS) for p in (100, 1000, 10_000)},
    quick_sizes=QUICK,
    warmup=(100, 1),
    work=work,
    contenders={
        "SupportFeatureMachine": Contender(run=machine(), peer=False, note="defaults"),
        "hard margin": Contender(run=machine(C=None), peer=False, note="`C=None`"),
        "class centres": Contender(
            run=machine(C=None, formulation="centers"),
            peer=False,
            note='`C=None, formulation="centers"`',
        ),
        "rescaled_l2": Contender(
            run=machine(algorithm="rescaled_l2"), peer=False, note='`algorithm="rescaled_l2"`'
        ),
        "L1-SVM": Contender(
            run=l1_machine,
            requires="scikit-learn>=1.9",
            note='`LinearSVC(penalty="l1")`, C from 5 values by 5 folds',
        ),
        "RFE": Contender(
            run=elimination,
            requires="scikit-learn>=1.9",
            note="recursive elimination by a linear SVM, a tenth at a time; is told that five "
            "features are relevant",
        ),
        "abess": Contender(
            run=best_subset,
            requires="abess>=0.4.11",
            note="best subset selection, logistic loss; up to 11 features by its information "
            "criterion",
        ),
    },
    quality=quality,
    figures={
        "exact": "draws in which exactly the relevant features are found",
        "features": "mean number of features",
        "error": "mean test error, per cent",
        "worst error": "test error of the worst draw, per cent",
    },
    repeat=3,
    targets=(
        at_least(
            "exactly the relevant features in at least 9 of 10 draws",
            "SupportFeatureMachine",
            "exact",
            9,
            sizes=("100 x 1,000", "100 x 10,000"),
        ),
        at_most("mean error at most 1 % after the refit", "SupportFeatureMachine", "error", 1.0),
        Target(text="for comparison: the cross-validated L1-SVM", check=_fewer_than_l1),
    ),
)
