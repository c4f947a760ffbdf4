"""Log-loss of predicted ranks: `python -m benchmarks.ordinal_probabilities`.

Five tables in five ranks (the same as in `benchmarks.defaults`), five folds, columns standardised
in each fold. `LogisticAT` of mord is linear; its alpha is chosen by the log-loss in three inner
folds, and so is gamma of `NuSVOR` (tuned); nu keeps its default, which the data choose. The linear
`KernelPRank` has nothing to choose: its thirty passes were set on petal width and concave points.
"""

import sys
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.defaults import ranked
from skmoderndata.ranking import KernelPRank, NuSVOR

ALPHAS = (0.01, 0.1, 1.0, 10.0, 100.0)
WIDTHS = (0.03, 0.1)


def main():
    """Measure and print a table of the page."""
    contenders = models()
    print("| table | " + " | ".join(contenders) + " |")
    print("|---" * (len(contenders) + 1) + "|")
    for table in ranked():
        print(f"| {table.name} |", end="", flush=True)
        for model in contenders.values():
            print(f" {held_out_loss(model, table.X, table.y):.3f} |", end="", flush=True)
        print()


def models():
    """Name -> model with its search."""
    machine = NuSVOR(probability=True)
    found = {
        "`LogisticRegression`": LogisticRegression(max_iter=1000),
        "`NuSVOR`": machine,
        "`KernelPRank`, average": KernelPRank(average=True, probability=True, random_state=0),
        "`NuSVOR`, tuned": tuned(machine, {"gamma": WIDTHS}),
        "`KernelPRank`, linear": KernelPRank(
            "linear", average=True, max_iter=30, probability=True, random_state=0
        ),
    }
    try:
        from mord import LogisticAT
    except ImportError:
        print("mord is not installed", file=sys.stderr)
        return found
    return {"`LogisticAT`, tuned": tuned(LogisticAT(), {"alpha": ALPHAS}), **found}


def tuned(model, grid):
    """Search by the log-loss of inner folds."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return GridSearchCV(model, grid, cv=folds, scoring=by_log_loss)


def by_log_loss(model, X, y):
    """Negative log-loss; scikit-learn's scorers do not accept mord's models as classifiers."""
    return -log_loss(y, model.predict_proba(X), labels=np.unique(y))


def held_out_loss(model, X, y):
    """Mean log-loss of five folds."""
    losses = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[train])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(model).fit(scaler.transform(X[train]), y[train])
            P = fitted.predict_proba(scaler.transform(X[test]))
        losses.append(log_loss(y[test], P, labels=range(5)))
    return float(np.mean(losses))


if __name__ == "__main__":
    main()
