"""False and true discoveries of the knockoff filter, Candès and others 2018."""

import numpy as np
from scipy.linalg import toeplitz

from benchmarks.papers import PRINTED, THEORY, Entry, value

FDR = 0.1
N_DRAWS = 30
QUICK_DRAWS = 4
# Number of standard deviations of a single draw within which a printed result counts as agreement.
LARGEST_DEVIATION = 2


def vignette(seed):
    """200 rows of 200 features with neighbouring correlation 0.25, 60 of them relevant."""
    rng = np.random.default_rng(seed)
    covariance = toeplitz(0.25 ** np.arange(200))
    X = rng.normal(size=(200, 200)) @ np.linalg.cholesky(covariance).T
    relevant = np.isin(np.arange(200), rng.choice(200, 60, replace=False))
    y = X @ (4.5 / np.sqrt(200) * relevant) + rng.normal(size=200)
    return X, y, relevant, covariance


def tutorial(seed):
    """300 rows of 500 features with neighbouring correlation 0.5, 50 of them relevant."""
    rng = np.random.default_rng(seed)
    covariance = toeplitz(0.5 ** np.arange(500))
    X = rng.normal(size=(300, 500)) @ np.linalg.cholesky(covariance).T
    relevant = np.isin(np.arange(500), rng.choice(500, 50, replace=False))
    y = X @ (relevant * rng.choice([-1, 1], size=500)) + rng.normal(size=300)
    return X, y, relevant, covariance


# Data, whether the covariance is known, what is printed for one draw, its value, its false
# discovery proportion.
SETTINGS = (
    (vignette, True, "features selected", 25, 0.0),
    (vignette, False, "features selected", 35, 0.02857143),
    (tutorial, True, "power, %", 100, 0.04),
    (tutorial, False, "power, %", 100, 0.0909),
)


def values(quick):
    found = []
    for draw, known, quantity, printed, proportion in SETTINGS[:2] if quick else SETTINGS:
        n_draws = QUICK_DRAWS if quick else N_DRAWS
        results = np.array([discoveries(draw, seed, known) for seed in range(n_draws)])
        selected, power, false = results.T
        measured = selected if quantity == "features selected" else 100 * power

        n, p = draw(0)[0].shape
        setting = f"{n} x {p}, covariance {'known' if known else 'estimated'}"
        error = false.std(ddof=1) / np.sqrt(n_draws)
        found += [
            within(setting, f"{quantity}, one draw printed", f"{printed}", printed, measured, 0),
            within(setting, "false discovery proportion, one draw printed",
                   f"{proportion:.3f}", proportion, false, 3),
            value(setting, f"false discovery rate, {n_draws} draws", f"at most {FDR}", THEORY,
                  f"{false.mean():.3f}, standard error {error:.3f}",
                  holds=false.mean() <= FDR + LARGEST_DEVIATION * error),
        ]  # fmt: skip
    return found


def discoveries(draw, seed, known):
    """Number of selected features, share of the relevant ones found, and share of false ones."""
    from sklearn.linear_model import LassoCV

    from skmoderndata.feature_selection import KnockoffSelector

    X, y, relevant, covariance = draw(seed)
    selector = KnockoffSelector(
        LassoCV(cv=5, max_iter=5000),
        fdr=FDR,
        covariance=covariance if known else None,
        construction="sdp" if draw is vignette else "equicorrelated",
        random_state=seed,
    )
    selected = selector.fit(X, y).get_support()
    n_selected = selected.sum()
    false = (selected & ~relevant).sum() / max(n_selected, 1)
    return n_selected, (selected & relevant).sum() / relevant.sum(), false


def within(setting, quantity, expected, printed, measured, digits):
    """Compare one printed draw with the mean and the standard deviation of our draws."""
    mean = measured.mean()
    deviation = measured.std(ddof=1)
    told = f"{mean:.{digits}f} ± {deviation:.{digits}f}"
    agrees = abs(printed - mean) <= LARGEST_DEVIATION * deviation + 1e-12
    return value(setting, quantity, expected, PRINTED, told, holds=agrees)


ENTRY = Entry(
    title="Discoveries of the knockoff filter",
    cites="Candès, Fan, Janson, Lv: Panning for gold: model-X knockoffs for high dimensional "
    "controlled variable selection. Journal of the Royal Statistical Society B 80(3), 2018; "
    "Spector, Janson: Powerful knockoffs via minimizing reconstructability. Annals of Statistics "
    "50(1), 2022.",
    source=(
        "the vignette `Controlled variable selection with model-X knockoffs` of the authors' R "
        "package knockoff (200 features), and the tutorial of the package knockpy of Spector "
        "and Janson (500 features). Both print the result of one draw of the data. The bound on "
        "the false discovery rate is proved in section 3 of the article, for a known covariance."
    ),
    values=values,
    remarks=(
        "We print the mean and the standard deviation over 30 draws of data and knockoffs. "
        "As in both sources, we use the lasso, whose penalty is chosen by cross-validation. "
        "A printed draw agrees if it lies within two standard deviations of our mean. "
        '`KnockoffSelector` uses `construction="sdp"` for 200 features and '
        '`"equicorrelated"` for 500; knockpy uses a third construction, which '
        "`KnockoffSelector` does not have."
    ),
)
