"""People in a network of acquaintances: which community are they from?"""

import functools

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from benchmarks.compare.problem import STEP, Data, Problem

N_PEOPLE = 360
N_COMMUNITIES = 3
# Mean number of acquaintances of a person, within and across communities.
N_WITHIN = 5.0
N_ACROSS = 2.0


@functools.cache
def network():
    """Adjacency matrix, and the community of each person."""
    rng = np.random.default_rng(0)
    y = np.arange(N_PEOPLE) % N_COMMUNITIES
    size = N_PEOPLE / N_COMMUNITIES
    probability = np.where(y[:, None] == y, N_WITHIN / size, N_ACROSS / (N_PEOPLE - size))
    above = np.triu(rng.random((N_PEOPLE, N_PEOPLE)) < probability, 1)
    return (above | above.T).astype(float), y


def load(quick):
    adjacency, y = network()
    n = 150 if quick else N_PEOPLE
    about = (
        f"{n} of {N_PEOPLE} people in {N_COMMUNITIES} communities; each knows {N_WITHIN:g} of the "
        f"same community and {N_ACROSS:g} others, on average"
    )
    return Data(X=np.arange(n), y=y[:n], about=about, extra={"adjacency": adjacency})


def acquaintances(people):
    """Rows of the adjacency matrix."""
    return network()[0][np.asarray(people)]


def pipeline(step):
    """Use the entire network, as a kernel between people or as rows of a table."""
    if isinstance(step, SVC):
        return Pipeline([("rows", FunctionTransformer(acquaintances)), (STEP, step)])
    step.set_params(kernel__kernel__similarity=network()[0])
    return Pipeline([(STEP, step), ("machine", SVC(kernel="precomputed", C=10.0))])


def plot(fig, methods, data, test):
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        counts = confusion_matrix(data.y[test], fitted.predict(data.X[test]))
        ax.imshow(counts, cmap="Blues", vmin=0)
        for (row, column), number in np.ndenumerate(counts):
            ax.text(column, row, number, ha="center", va="center")
        right = f"{np.trace(counts)} of {counts.sum()} unseen people right"
        ax.set(title=f"{name}: {right}", xlabel="predicted", ylabel="community")


PROBLEM = Problem(
    title="communities",
    description="The community of some people in a network is known; the others are to be "
    "classified. The kernel follows walks through the network, the baseline compares lists of "
    "acquaintances.",
    score_name="accuracy",
    scoring="accuracy",
    load=load,
    pipeline=pipeline,
    plot=plot,
    n_repeats=2,
)
