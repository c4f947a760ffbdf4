"""How reliable is a doubt? `python -m benchmarks.doubt`, `--quick` for one problem in ten.

Each of the eight top-level estimators is fitted to planted problems on both sides of the
border beyond which the truth can no longer be found. The same solver also gets help from the
truth, and this oracle has an error, too. An answer is poor if its error is more than twice the
error of the oracle, and useless if its error is also above a tenth; other answers are good,
and useful if their error is at most a tenth. The program counts how many answers of each kind
carry a doubt. `--write-docs` writes the table of docs/benchmarks/doubt.md. The limits of the
classes were chosen with `--first 0`; the page shows other problems.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone

from skmoderndata._estimator.refits import match, unit_rows
from skmoderndata.cluster import MultiAssignmentClustering
from skmoderndata.cross_decomposition import KernelCCA
from skmoderndata.decomposition import KSVD, RobustPCA, SlowFeatureAnalysis, SparseNMF
from skmoderndata.svm import CoreVectorMachine, SupportFeatureMachine

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "doubt.md"
# Number of problems for each estimator.
N_PROBLEMS = 250
# Number of the first problem that the page uses.
FIRST = 10_000
KINDS = ("poor", "poor and useless", "good", "good and useful")
# Size of an error, as a multiple of the error of the oracle, above which a result is poor.
FACTOR = 2
# Size of an error above which a result is useless.
USELESS = 0.1
# Size of rounding errors, which both results may have.
ROUNDING = 1e-9


def main(arguments=None):
    """Measure the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="one problem in ten")
    parser.add_argument("--first", type=int, default=FIRST, help="number of the first problem")
    parser.add_argument("--write-docs", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args(arguments)

    n_problems = N_PROBLEMS // 10 if options.quick else N_PROBLEMS
    lines = [
        f"| estimator | {' | '.join(f'{kind} | with doubt' for kind in KINDS)} |",
        "| --- " * (1 + 2 * len(KINDS)) + "|",
    ]
    print(*lines, sep="\n", flush=True)
    for name in options.cases or CASES:
        problems = range(options.first, options.first + n_problems)
        lines.append(row(name, np.array([measure(name, number) for number in problems])))
        print(lines[-1], flush=True)
    if options.write_docs:
        write(lines)
    return 0


def measure(name, number):
    """Fit a problem; return whether there is a doubt, and both errors."""
    rng = np.random.default_rng([number, list(CASES).index(name)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, error, of_oracle = CASES[name](rng)
    return model.doubt_ is not None, error, of_oracle


def row(name, results):
    """Return a row of the table: numbers of answers, and the fractions with a doubt."""
    doubts, errors, of_oracle = results.T
    poor = errors > FACTOR * of_oracle + ROUNDING
    large = errors > USELESS
    groups = poor, poor & large, ~poor, ~poor & ~large
    cells = [f"{group.sum()} | {share(doubts[group])}" for group in groups]
    return f"| {name} | {' | '.join(cells)} |"


def share(doubts):
    return f"{doubts.mean():.0%}" if doubts.size else ""


def write(lines):
    """Replace the first table of the page."""
    text = PAGE.read_text(encoding="utf-8")
    start = text.index("| estimator | poor |")
    end = text.index("\n\n", start)
    PAGE.write_text(text[:start] + "\n".join(lines) + text[end:], encoding="utf-8")


# ---- planted problems: a fitted estimator, its error, and the error of the oracle --------------


def robust_pca(rng):
    """Low rank and noise in all cells, and 0 to 50 % broken cells; truth: which cells."""
    n = rng.integers(30, 150)
    p = rng.integers(10, 50)
    rank = rng.integers(1, 1 + min(n, p) // 4)
    factors = rng.normal(size=(n, rank)), rng.normal(size=(rank, p))
    low_rank = rng.uniform(3, 10) * factors[0] @ factors[1] / np.sqrt(rank)
    X = low_rank + rng.normal(size=(n, p))
    wrong = rng.uniform(size=(n, p)) < rng.uniform(0, 0.5)
    X[wrong] += rng.choice([-1, 1], wrong.sum()) * rng.uniform(10, 30, wrong.sum())

    model = RobustPCA().fit(X)
    best = _least_squares(X, ~wrong, low_rank, rank)
    return model, _distance(model.low_rank_, low_rank), _distance(best, low_rank)


def _least_squares(X, good, start, rank, n_passes=50):
    """Fit a table of known rank to the good cells, starting from the truth."""
    table = np.where(good, X, start)
    for _ in range(n_passes):
        U, s, Vt = np.linalg.svd(table, full_matrices=False)
        fit = (U[:, :rank] * s[:rank]) @ Vt[:rank]
        table = np.where(good, X, fit)
    return fit


def _distance(A, B):
    return np.linalg.norm(A - B) / np.linalg.norm(B)


def multi_assignment(rng):
    """The OR of sources, of which 0 to 35 % of the bits are inverted; truth: the sources."""
    n = rng.integers(20, 150)
    p = rng.integers(12, 40)
    k = rng.integers(2, 8)
    sources = rng.uniform(size=(k, p)) < rng.uniform(0.15, 0.5)
    clean = (rng.uniform(size=(n, k)) < rng.uniform(0.15, 0.5)) @ sources
    noise = rng.uniform(0, 0.3)
    X = clean ^ (rng.uniform(size=(n, p)) < noise)

    model = MultiAssignmentClustering(k, noise="flip", random_state=0).fit(X)
    oracle = clone(model).fit(X)
    oracle.components_ = sources
    oracle.emission_proba_ = sources.astype(float)
    oracle.epsilon_ = max(noise, 1e-3)
    oracle.assignment_sets_ = (np.arange(2**k)[:, None] >> np.arange(k)) % 2 == 1
    wrong = [
        (m.inverse_transform(m.predict(X)).astype(bool) != clean).mean()
        for m in (model, oracle)
    ]
    return model, *wrong


def support_features(rng):
    """A linear rule with 1 to 8 of 30 to 500 features and noisy labels; truth: the features."""
    n = rng.integers(30, 200)
    p = int(np.exp(rng.uniform(3.4, 6.2)))
    k = rng.integers(1, 9)
    w = np.zeros(p)
    chosen = rng.choice(p, k, replace=False)
    w[chosen] = rng.choice([-1, 1], k) * rng.uniform(0.5, 1.5, k)
    w /= np.linalg.norm(w)
    X = rng.normal(size=(n, p))
    y = X @ w + rng.uniform(0, 0.5) * rng.normal(size=n) > 0

    model = SupportFeatureMachine().fit(X, y)
    oracle = SupportFeatureMachine(C=1e3, alpha=0).fit(X[:, chosen], y)
    known = np.zeros(p)
    known[chosen] = oracle.coef_[0]
    return model, _angle(model, w, model.coef_[0]), _angle(oracle, w, known)


def _angle(model, w, coef):
    """Fraction of samples on which two linear rules differ, from the angle between them."""
    size = np.linalg.norm(coef)
    return 0.5 if size == 0 else np.arccos(np.clip(w @ coef / size, -1, 1)) / np.pi


def sparse_nmf(rng):
    """Non-negative factors, sparse to dense, with 2 to 10 % noise; truth: the start."""
    n = rng.integers(15, 150)
    p = rng.integers(10, 50)
    k = rng.integers(2, 9)
    components = rng.gamma(1, size=(k, p)) * (rng.uniform(size=(k, p)) < rng.uniform(0.1, 0.7))
    codes = rng.gamma(1, size=(n, k)) * (rng.uniform(size=(n, k)) < rng.uniform(0.1, 0.7))
    components += 1e-3
    X = codes @ components
    X *= np.maximum(1 + rng.uniform(0.02, 0.3) * rng.normal(size=X.shape), 0)

    model = SparseNMF(k, random_state=0).fit(X)
    oracle = SparseNMF(k, penalty=None, init=components).fit(X)
    return model, _misfit(model, components), _misfit(oracle, components)


def _misfit(model, truth):
    """One minus the mean cosine of the true components with their matches."""
    cosines = np.abs(unit_rows(truth) @ unit_rows(model.components_).T)
    index, _ = match(cosines)
    return 1 - cosines[np.arange(len(truth)), index].mean()


def k_svd(rng):
    """Signals of 1 to 5 atoms each, with noise; truth: the initial atoms."""
    p = rng.integers(8, 21)
    k = rng.integers(p, 2 * p + 1)
    s = rng.integers(1, 5)
    n = int(k * np.exp(rng.uniform(1, 3.7)))
    atoms = unit_rows(rng.normal(size=(k, p)))
    codes = np.where(rng.uniform(size=(n, k)).argsort(axis=1) < s, rng.normal(size=(n, k)), 0)
    X = codes @ atoms
    X += np.sqrt(s / p) * 10 ** -rng.uniform(0.5, 1.5) * rng.normal(size=X.shape)

    model = KSVD(k, n_nonzero_coefs=s, random_state=0).fit(X)
    oracle = KSVD(k, n_nonzero_coefs=s, init=atoms, random_state=0).fit(X)
    return model, _misfit(model, atoms), _misfit(oracle, atoms)


def kernel_cca(rng):
    """A curve in two views, with noise and irrelevant columns; truth: 1,000 samples."""
    n = int(np.exp(rng.uniform(2.3, 5)))
    extra = rng.integers(0, 5)
    noise = rng.uniform(0, 0.5)

    def draw(n):
        t = rng.normal(size=n)
        curve = np.sin(1.5 * t)
        X = np.c_[t, rng.normal(size=(n, extra))]
        Y = np.c_[curve + noise * rng.normal(size=n), rng.normal(size=(n, extra))]
        return X, Y, curve

    X, Y, _ = draw(n)
    model = KernelCCA(1).fit(X, Y)
    oracle = KernelCCA(1).fit(*draw(1000)[:2])
    X, _, curve = draw(1000)
    return model, *(_unexplained(m.transform(X)[:, 0], curve) for m in (model, oracle))


def _unexplained(scores, truth):
    """One minus the squared correlation."""
    return 1 - np.corrcoef(scores, truth)[0, 1] ** 2


def slow_features(rng):
    """A slow series among mixed faster ones, with noise; truth: 5,000 rows."""
    n = int(np.exp(rng.uniform(3.5, 7)))
    p = rng.integers(3, 25)
    rho = np.r_[rng.uniform(0.9, 0.99), rng.uniform(0, 0.8, p - 1)]
    mixing = rng.normal(size=(p, p))
    noise = rng.uniform(0, 0.3)

    def draw(n):
        shocks = rng.normal(size=(n + 200, p)) * np.sqrt(1 - rho**2)
        series = np.zeros((n + 200, p))
        for t in range(1, n + 200):
            series[t] = rho * series[t - 1] + shocks[t]
        slow = series[200:]
        return slow @ mixing + noise * rng.normal(size=slow.shape), slow[:, 0]

    model = SlowFeatureAnalysis(1).fit(draw(n)[0])
    oracle = SlowFeatureAnalysis(1).fit(draw(5000)[0])
    X, slow = draw(3000)
    return model, *(_unexplained(m.transform(X)[:, 0], slow) for m in (model, oracle))


def core_vectors(rng):
    """Two overlapping classes, for searches that are cut short; truth: the exact optimum."""
    n = int(np.exp(rng.uniform(4, 7.6)))
    p = rng.integers(2, 8)

    def draw(n):
        X = rng.uniform(-2, 2, size=(n, p))
        return X, np.sin(X[:, 0] * 2) + X[:, 1] > 0

    X, y = draw(n)
    flipped = rng.uniform(size=n) < rng.uniform(0, 0.2)
    settings = [
        {},
        {"max_core": int(rng.integers(2, 60))},
        {"max_iter": int(rng.integers(1, 5))},
    ]
    settings = settings[rng.integers(3)]
    C = 10 ** rng.uniform(-1, 2)
    model = CoreVectorMachine(C=C, random_state=0, **settings).fit(X, y ^ flipped)
    oracle = CoreVectorMachine(C=C, tol=1e-7, random_state=0).fit(X, y ^ flipped)
    new = draw(2000)
    return model, 1 - model.score(*new), 1 - oracle.score(*new)


CASES = {
    "RobustPCA": robust_pca,
    "MultiAssignmentClustering": multi_assignment,
    "SupportFeatureMachine": support_features,
    "SparseNMF": sparse_nmf,
    "KSVD": k_svd,
    "KernelCCA": kernel_cca,
    "SlowFeatureAnalysis": slow_features,
    "CoreVectorMachine": core_vectors,
}

if __name__ == "__main__":
    sys.exit(main())
