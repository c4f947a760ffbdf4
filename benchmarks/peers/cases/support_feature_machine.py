"""Which features matter, and how well do they predict?"""

from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, Target, at_least, at_most

N_DRAWS = 5


class Shape(NamedTuple):
    """Numbers of samples and features, fraction of wrong labels, distance from the hyperplane."""

    n_samples: int
    n_features: int
    n_informative: int
    flip_y: float
    n_draws: int
    margin: float = 0.3


class Draw(NamedTuple):
    """Training data, and the hyperplane that labels them."""

    X: np.ndarray
    y: np.ndarray
    coef: np.ndarray
    margin: float


class Linear(NamedTuple):
    """Weights and intercept."""

    w: np.ndarray
    b: float


def work(size, rng):
    from skmoderndata.datasets import make_sparse_classes

    shape = Shape(*size)
    draws = []
    for seed in rng.integers(2**31, size=shape.n_draws):
        planted = make_sparse_classes(
            shape.n_samples,
            shape.n_features,
            n_informative=shape.n_informative,
            margin=shape.margin,
            flip_y=shape.flip_y,
            random_state=int(seed),
        )
        draws.append(Draw(*planted, shape.margin))
    return draws


def quality(draws, models):
    """Compare features with the truth; errors on 2000 new samples for each draw."""
    exact = 0
    found = []
    sizes = []
    errors = []
    rng = np.random.default_rng(0)

    # features
    for draw, model in zip(draws, models, strict=True):
        relevant = np.flatnonzero(draw.coef)
        kept = np.flatnonzero(model.w)
        exact += np.array_equal(relevant, kept)
        found.append(np.isin(relevant, kept).sum())
        sizes.append(kept.size)
        # draw only columns that are used
        columns = np.union1d(relevant, kept)
        X = rng.standard_normal((2000, columns.size))
        side = np.sign(X @ draw.coef[columns])
        X += draw.margin * np.outer(side, draw.coef[columns])
        errors.append(100 * np.mean(np.sign(X @ model.w[columns] + model.b) != side))

    return {
        "exact": exact,
        "found": float(np.mean(found)),
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


def stability_selection(draws):
    """Features that enter the l1 path early in most of 50 random halves of the samples.

    In each half the first q of p features with ``q^2 = p / 2``: with a threshold of 3/4 at most
    one irrelevant feature is expected (Meinshausen and Buhlmann 2010, theorem 1).
    """
    from sklearn.svm import LinearSVC, l1_min_c

    found = []
    for number, draw in enumerate(draws):
        rng = np.random.default_rng(number)
        n, p = draw.X.shape
        q = np.sqrt(p / 2)
        counts = np.zeros(p)
        for _ in range(50):
            half = rng.permutation(n)[: n // 2]
            C = l1_min_c(draw.X[half], draw.y[half])
            entered = np.zeros(p, dtype=bool)
            while True:
                C *= 2
                svc = LinearSVC(penalty="l1", dual=False, C=C, max_iter=10_000)
                more = entered | (svc.fit(draw.X[half], draw.y[half]).coef_[0] != 0)
                if more.sum() > q:
                    break
                entered = more
            counts += entered

        stable = np.flatnonzero(counts >= 0.75 * 50)
        w = np.zeros(p)
        b = 1.0
        if stable.size:
            svc = LinearSVC(dual=True, max_iter=10_000).fit(draw.X[:, stable], draw.y)
            w[stable] = svc.coef_[0]
            b = float(svc.intercept_[0])
        found.append(Linear(w, b))
    return found


def elimination(draws):
    from sklearn.feature_selection import RFE
    from sklearn.svm import LinearSVC

    found = []
    for draw in draws:
        svc = LinearSVC(dual=True, max_iter=10_000)
        n_informative = np.count_nonzero(draw.coef)
        rfe = RFE(svc, n_features_to_select=n_informative, step=0.1).fit(draw.X, draw.y)
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


QUICK = {"100 x 300, 5 relevant, 3 draws": (100, 300, 5, 0.0, 3)}
CLEAN = {f"100 x {p:,}, 5 relevant": (100, p, 5, 0.0, N_DRAWS) for p in (100, 1000, 10_000)}
NOISY = {
    "100 x 1,000, 5 relevant, 5 % wrong": (100, 1000, 5, 0.05, N_DRAWS),
    "400 x 200, 5 relevant, 10 % wrong": (400, 200, 5, 0.1, N_DRAWS),
    "200 x 1,000, 10 relevant": (200, 1000, 10, 0.0, N_DRAWS),
    "200 x 1,000, 10 relevant, 5 % wrong": (200, 1000, 10, 0.05, N_DRAWS),
    "200 x 1,000, 10 relevant, 5 % wrong, no distance": (200, 1000, 10, 0.05, N_DRAWS, 0.0),
}

CASE = Case(
    title="Support feature machine: relevant features",
    question=(
        "You have 100 to 400 samples with 100 to 10,000 features, of which five or ten "
        "determine the classes; in some sizes, some of the labels are wrong. Which features "
        "matter?"
    ),
    remarks=(
        f"For each size, the data are {N_DRAWS} draws of `make_sparse_classes(n, p, "
        "n_informative=k, margin=0.3)`. The features are standard normal, and a hyperplane in k "
        "of the features determines the labels. No sample lies close to this "
        "hyperplane (except in the last size, `margin=0`). Then a fraction of the labels is "
        "flipped at random. Errors are percentages and are measured on 2000 new samples "
        "with correct labels for each draw. Times are sums over all draws, including "
        "cross-validation if there is any."
    ),
    ours="SupportFeatureMachine",
    sizes=CLEAN | NOISY,
    quick_sizes=QUICK,
    warmup=(100, 100, 5, 0.0, 1),
    work=work,
    contenders={
        "SupportFeatureMachine": Contender(
            run=machine(), peer=False, note="the default parameters"
        ),
        "splicing": Contender(
            run=machine(algorithm="splicing"),
            peer=False,
            note='`algorithm="splicing"`, which is the default only for large tables',
        ),
        "hard margin": Contender(
            run=machine(C=None),
            peer=False,
            note="`C=None`",
            sizes=tuple(CLEAN),
            why_not="suitable only for correct labels; see the first sizes",
        ),
        "class centres": Contender(
            run=machine(C=None, formulation="centers"),
            peer=False,
            note='`C=None, formulation="centers"`',
            sizes=tuple(CLEAN),
            why_not="suitable only for correct labels; see the first sizes",
        ),
        "L1-SVM": Contender(
            run=l1_machine,
            requires="scikit-learn>=1.9",
            note=(
                '`LinearSVC(penalty="l1")`, whose C is chosen from 5 values by 5-fold '
                "cross-validation"
            ),
        ),
        "stability selection": Contender(
            run=stability_selection,
            requires="scikit-learn>=1.9",
            note=(
                "`LinearSVC` on the features that are among the first $\\sqrt{p / 2}$ to "
                'enter `LinearSVC(penalty="l1")` in three quarters of 50 halves of the '
                "samples (at most one wrong feature is expected); implemented in this "
                "benchmark"
            ),
            sizes=tuple(name for name in CLEAN | NOISY if "10,000" not in name),
            why_not="takes minutes",
        ),
        "RFE": Contender(
            run=elimination,
            requires="scikit-learn>=1.9",
            note=(
                "recursive elimination by a linear SVM that removes a tenth of the features "
                "at a time; it is given the number of relevant features"
            ),
        ),
        "abess": Contender(
            run=best_subset,
            requires="abess>=0.4.11",
            note=(
                "best subset selection with the logistic loss; its information criterion "
                "chooses up to 11 features"
            ),
        ),
    },
    quality=quality,
    figures={
        "exact": "number of draws in which exactly the relevant features are found",
        "found": "mean number of relevant features found",
        "features": "mean number of features",
        "error": "mean test error, in per cent",
        "worst error": "test error of the worst draw, in per cent",
    },
    repeat=3,
    targets=(
        at_least(
            (
                "for five relevant features and correct labels, exactly these features are "
                "found in at least 4 of 5 draws"
            ),
            "SupportFeatureMachine",
            "exact",
            4,
            sizes=tuple(CLEAN),
        ),
        at_most(
            "the mean error in these draws is at most 1 %",
            "SupportFeatureMachine",
            "error",
            1.0,
            sizes=tuple(CLEAN),
        ),
        at_least(
            "for ten relevant features and 5 % wrong labels, exactly these features are "
            "found in at least 4 of 5 draws",
            "SupportFeatureMachine",
            "exact",
            4,
            sizes=("200 x 1,000, 10 relevant, 5 % wrong",),
        ),
        Target(
            text="for comparison: features and errors of the cross-validated L1-SVM",
            check=_fewer_than_l1,
        ),
    ),
)
