"""Outliers of bundled tables by the one-class support vector machine, Zhao and others 2019."""

import numpy as np

from benchmarks.papers import PRINTED, Entry, value
from benchmarks.papers._sources import folder

# Name of the environment variable with the folder of the source of PyOD.
SOURCE = "PYOD_SOURCE"
# Area under the curve of the one-class support vector machine, mean of ten splits.
AREAS = {
    "arrhythmia": 0.7812,
    "cardio": 0.9348,
    "glass": 0.6324,
    "ionosphere": 0.8419,
    "letter": 0.6118,
    "lympho": 0.9759,
    "musk": 1.0000,
    "optdigits": 0.4997,
    "pendigits": 0.9303,
    "pima": 0.6215,
    "satellite": 0.6622,
    "satimage-2": 0.9978,
    "vertebral": 0.4431,
    "vowels": 0.7802,
    "wbc": 0.9319,
}
N_SPLITS = 10
# Tables with at most this many rows are used in the quick run.
QUICK_ROWS = 500
# Relative gap of the fits. With the default, 1e-3, the order of the samples is less exact: areas
# differ by up to 0.014.
TOL = 1e-7
# Difference that still counts as agreement; the standard deviation over splits is 0.005 to 0.19.
LARGEST_DIFFERENCE = 0.0005


def values(quick):
    source = folder(SOURCE)
    if source is None:
        return []

    from scipy.io import loadmat

    found = []
    for name, printed in AREAS.items():
        table = loadmat(source / "notebooks" / "data" / f"{name}.mat")
        X = table["X"].astype(float)
        y = table["y"].ravel().astype(int)
        if quick and len(X) > QUICK_ROWS:
            continue
        ours = areas(X, y)
        found.append(
            value(
                f"{name}, {len(X)} x {X.shape[1]}, {100 * y.mean():.1f} % outliers",
                "area under the curve, mean of 10 splits",
                f"{printed:.4f}",
                PRINTED,
                f"{ours.mean():.4f}",
                holds=abs(ours.mean() - printed) <= LARGEST_DIFFERENCE,
            )
        )
    return found


def areas(X, y):
    """Area under the curve on the last two fifths of the rows, for each split."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from skmoderndata.svm import SVDD

    found = []
    for split in range(N_SPLITS):
        X_train, X_test, _, y_test = train_test_split(
            X, y, test_size=0.4, random_state=np.random.RandomState(split)
        )
        model = make_pipeline(StandardScaler(), SVDD(nu=0.5, gamma="auto", tol=TOL)).fit(
            X_train
        )
        found.append(roc_auc_score(y_test, -model.score_samples(X_test)))
    return np.array(found)


ENTRY = Entry(
    title="Outliers by the ball around the samples",
    cites="Zhao, Nasrullah, Li: PyOD: a Python toolbox for scalable outlier detection. Journal of "
    "Machine Learning Research 20(96), 2019.",
    source="the column OCSVM of `docs/tables/roc.csv` in the source of PyOD.",
    values=values,
    remarks=(
        "With the Gaussian kernel, `SVDD` orders samples as the one-class support vector machine "
        "does. We use the splits of the benchmark script, standardised features, `nu=0.5` and "
        '`gamma="auto"`; the last two are the defaults of PyOD. The tables mnist and shuttle are '
        "left out because of their size. The fits have a gap of 1e-7: with the default of "
        "`SVDD`, 1e-3, the areas of five of the larger tables differ by 0.002 to 0.014. The "
        "data are in the folder `notebooks/data` of the source of PyOD, which is not shipped "
        "here: set "
        f"`{SOURCE}` to the folder of that source."
    ),
)
