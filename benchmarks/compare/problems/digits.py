"""Classification of digits after a reduction: does a cheaper reduction preserve what matters?"""

from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from benchmarks.compare.pictures import components_or_scatter
from benchmarks.compare.problem import STEP, Data, Problem


def load(quick):
    X, y = load_digits(return_X_y=True)
    n = 500 if quick else len(X)
    return Data(X=X[:n], y=y[:n], about=f"{n} digits of 8 x 8 pixels from scikit-learn")


def pipeline(step):
    # neighbours depend only on distances, and therefore on the subspace and not on its basis
    return Pipeline([(STEP, step), ("classify", KNeighborsClassifier(5))])


def plot(fig, methods, data, test):
    components_or_scatter(fig, methods, data.X[test], data.y[test], (8, 8))


PROBLEM = Problem(
    title="digits",
    description="Digits are reduced to a few features and classified by their five nearest "
    "neighbours. The grid chooses the number of features or the width of the kernel.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
)
