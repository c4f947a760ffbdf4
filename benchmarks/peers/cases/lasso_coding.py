"""Lasso codes of image patches, to a certified gap."""

from benchmarks.peers import Case, Contender, at_most
from benchmarks.peers.cases.sparse_coding import ALPHA, beats, ours, quality, spams_codes, work


def sklearn_path(patches):
    from sklearn.decomposition import sparse_encode

    return sparse_encode(patches.X, patches.D, algorithm="lasso_lars", alpha=ALPHA)


def sklearn_descent(patches):
    from sklearn.linear_model import Lasso

    # scikit-learn's tol is a gap relative to the squared norm of the signal
    model = Lasso(
        alpha=ALPHA / patches.X.shape[1],
        fit_intercept=False,
        tol=1e-7,
        max_iter=100_000,
        precompute=True,
    )
    return model.fit(patches.D.T, patches.X.T).coef_


SIZES = {
    "500 patches": ("lasso", 500, "float64"),
    "50,000 patches": ("lasso", 50_000, "float64"),
    "5,000 patches": ("lasso", 5_000, "float64"),
    "2,000 atoms, 20 signals": ("lasso large", 20, "float64"),
}
QUICK = {"2,000 patches": ("lasso", 2_000, "float64")}
USUAL = ("5,000 patches", "50,000 patches", *QUICK)
LARGE = ("2,000 atoms, 20 signals",)
SMALL = ("500 patches", "5,000 patches", "2,000 atoms, 20 signals", *QUICK)

CASE = Case(
    title="Lasso codes of image patches",
    question=(
        "How long does it take to code noisy 8 x 8 patches by the lasso, "
        f"`1/2 |x - a D|^2 + {ALPHA:.0f} |a|_1`, with an over-complete dictionary of 256 "
        "cosines? How close is the worst code to the optimum?"
    ),
    remarks=(
        "Patches have mean zero. The dictionary of 2,000 atoms is Gaussian and has 1,000 "
        "entries per atom. Each contender uses one thread unless its name states otherwise. "
        "The benchmark computes the gap from the codes and does not rely on the gap that a "
        "program reports."
    ),
    ours="SparseCoder",
    sizes=SIZES,
    quick_sizes=QUICK,
    warmup=("lasso", 600, "float64"),
    work=work,
    contenders={
        "SparseCoder": Contender(
            run=ours(1), peer=False, note="`transform_algorithm='lasso'`"
        ),
        "SparseCoder, 2 threads": Contender(run=ours(2), peer=False, note="`n_jobs=2`"),
        "SparseCoder, feature sign": Contender(
            run=ours(1, transform_algorithm="feature_sign"),
            peer=False,
            note="`transform_algorithm='feature_sign'`",
        ),
        "SparseCoder, descent": Contender(
            run=ours(1, transform_algorithm="coordinate_descent"),
            peer=False,
            note="`transform_algorithm='coordinate_descent'`, which stops at a gap of 1e-6",
        ),
        "spams": Contender(
            run=spams_codes(1),
            requires="spams-bin>=2.6",
            note=(
                "a homotopy method in C++; the patches are stored in columns before the "
                "timing starts"
            ),
        ),
        "spams, 2 threads": Contender(
            run=spams_codes(2), requires="spams-bin>=2.6", note="`numThreads=2`"
        ),
        "scikit-learn, path": Contender(
            run=sklearn_path,
            requires="scikit-learn>=1.9",
            note="`sparse_encode(algorithm='lasso_lars')`",
            sizes=SMALL,
            why_not="too slow at this size",
        ),
        "scikit-learn, descent": Contender(
            run=sklearn_descent,
            requires="scikit-learn>=1.9",
            note="`Lasso(precompute=True)` with a `tol` that gives a gap of nearly 1e-6",
            sizes=SMALL,
            why_not="too slow at this size",
        ),
    },
    quality=quality,
    figures={
        "atoms": "mean number of atoms in a code",
        "rmse": "root mean squared residual, in grey levels",
        "gap": "largest duality gap relative to the objective",
    },
    targets=(
        at_most("relative gap at most 1e-6", "SparseCoder", "gap", 1e-6),
        beats(
            "at most 1.2 times as long as spams with one thread, for patches",
            "spams",
            1 / 1.2,
            USUAL,
        ),
        beats(
            "10 times as fast as scikit-learn, for patches",
            "scikit-learn, descent",
            10.0,
            USUAL,
        ),
        beats("no slower than spams with one thread, for 2,000 atoms", "spams", 1.0, LARGE),
    ),
    repeat=3,
)
