"""Documents drawn from planted topics: which distribution of words generated each of them?"""

import numpy as np
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem

N_TOPICS = 6
N_WORDS = 300
LENGTH = 80


def load(quick):
    n = 200 if quick else 300
    rng = np.random.default_rng(0)
    # word frequencies follow Zipf's law: a few words are in all topics
    frequency = 1 / np.arange(1, N_WORDS + 1)
    topics = rng.gamma(0.1 + 20 * frequency / frequency.sum(), size=(N_TOPICS, N_WORDS))
    topics /= topics.sum(axis=1, keepdims=True)
    behind = rng.dirichlet(np.full(N_TOPICS, 0.3), size=n) @ topics
    lengths = rng.poisson(LENGTH, size=n)
    X = np.array([rng.multinomial(m, p) for m, p in zip(lengths, behind, strict=True)])
    about = (
        f"{n} documents of some {LENGTH} words each out of {N_WORDS}, drawn from mixtures of "
        f"{N_TOPICS} topics"
    )
    return Data(X=X.astype(float), y=behind, about=about)


def pipeline(step):
    return Pipeline([(STEP, step)])


def explained(fitted, X):
    """Distribution of words that the topics give each document."""
    step = fitted.named_steps[STEP]
    topics = step.components_ / step.components_.sum(axis=1, keepdims=True)
    return step.transform(X) @ topics


def overlap(fitted, X, behind):
    """Overlap of the estimated distributions with the true distributions, between 0 and 1."""
    return float(np.minimum(explained(fitted, X), behind).sum(axis=1).mean())


def plot(fig, methods, data, test):
    shown = test[:40]
    words = 60
    panels = {"counts": data.X[shown] / data.X[shown].sum(axis=1, keepdims=True)}
    panels |= {name: explained(fitted, data.X[shown]) for name, fitted in methods.items()}
    panels["planted"] = data.y[shown]
    axes = fig.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for ax, (name, shares) in zip(axes, panels.items(), strict=True):
        ax.imshow(np.sqrt(shares[:, :words]), cmap="Greys", vmin=0, vmax=0.4, aspect="auto")
        right = np.minimum(shares, data.y[shown]).sum(axis=1).mean()
        ax.set(title=f"{name}\noverlap {right:.2f}", xlabel="word")
    axes[0].set_ylabel("document")


def folds(n_splits, random_state):
    """Shuffled folds."""
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="planted topics",
    description="The words of a document are drawn from a mixture of a few topics. Topics are "
    "learned from documents and predict the distribution of words in unseen documents; the score "
    "is its overlap with the true distribution.",
    score_name="overlap",
    scoring=overlap,
    load=load,
    pipeline=pipeline,
    plot=plot,
    splitter=folds,
)
