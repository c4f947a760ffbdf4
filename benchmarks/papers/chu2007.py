"""By how many ranks are predictions off, if the target is cut into five ranks?"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.papers import OWN_TARGET, Entry, value


def values(quick):
    ours, theirs = errors(3 if quick else 5)
    setting = "diabetes, target in 5 bins of equal frequency"
    return [
        value(setting, "mean absolute error in ranks", "0.86", OWN_TARGET, ours,
              holds=abs(ours - 0.86) < 0.03),
        value(setting, "mean absolute error in ranks, compared with SVC",
              f"below {theirs:.3f}", OWN_TARGET, ours, holds=ours < theirs),
    ]  # fmt: skip


def errors(n_folds):
    """Mean absolute error of NuSVOR and of SVC over the folds."""
    from skmoderndata.ranking import NuSVOR

    X, target = load_diabetes(return_X_y=True)
    y = np.searchsorted(np.quantile(target, [0.2, 0.4, 0.6, 0.8]), target, side="right")
    folds = KFold(n_folds, shuffle=True, random_state=0)
    return tuple(
        float(
            np.abs(
                cross_val_predict(make_pipeline(StandardScaler(), m), X, y, cv=folds) - y
            ).mean()
        )
        for m in (NuSVOR(0.8), SVC())
    )


ENTRY = Entry(
    title="Ordinal regression on a table",
    cites="Chu and Keerthi: Support vector ordinal regression. Neural Computation 19, 2007.",
    source=(
        "the paper cuts the targets of regression tables into bins of equal frequency; its "
        "tables are not available. We set the target value ourselves, for a table that ships "
        "with scikit-learn."
    ),
    values=values,
    remarks=(
        "The relation is nearly linear: rounded ridge regression has a mean absolute error "
        "of 0.80 here, which is lower than the errors of both support vector methods. We set "
        "`nu` to 0.8; with `nu=0.5`, the error is 0.98."
    ),
)
