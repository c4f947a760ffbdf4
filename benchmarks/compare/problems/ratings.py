"""A table of ratings, mostly unknown, of users and items with common tastes."""

import numpy as np
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem, by_plan

RANK = 3
OBSERVED = 0.3
NOISE = 0.5


def load(quick, full=False):
    n_users, n_items = by_plan(quick, full, (100, 40), (300, 60), (1000, 100))
    rng = np.random.default_rng(0)
    tastes = rng.normal(size=(n_users, RANK)) @ rng.normal(size=(RANK, n_items))
    X = tastes + NOISE * rng.normal(size=tastes.shape)
    X[rng.random(X.shape) > OBSERVED] = np.nan
    about = (
        f"{n_users} users and {n_items} items, tastes of rank {RANK}; {100 * OBSERVED:g} % of the "
        f"ratings are known, with noise of standard deviation {NOISE:g}"
    )
    return Data(X=X, y=tastes, about=about)


def pipeline(step):
    return Pipeline([(STEP, step)])


def explained(fitted, X, tastes):
    """Explained variance of the true tastes behind the unknown ratings."""
    unknown = np.isnan(X)
    error = (fitted.transform(X) - tastes)[unknown]
    return float(1 - np.mean(error**2) / np.var(tastes[unknown]))


def plot(fig, methods, data, test):
    shown = test[:30]
    unknown = np.isnan(data.X[test])
    panels = {"known ratings": data.X[shown]}
    panels |= {name: fitted.transform(data.X[shown]) for name, fitted in methods.items()}
    panels["tastes"] = data.y[shown]
    axes = fig.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for ax, (name, table) in zip(axes, panels.items(), strict=True):
        ax.imshow(
            table, cmap="RdBu_r", vmin=-4, vmax=4, aspect="auto", interpolation="nearest"
        )
        ax.set(title=name, xlabel="item")
    axes[0].set_ylabel("user, unseen")
    fig.supxlabel(f"{unknown.mean():.0%} of the cells are unknown", fontsize=9)


def folds(n_splits, random_state):
    """Shuffled folds."""
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="ratings",
    description="Most ratings in a table are unknown. For unseen users, the few known ratings are "
    "given and the others imputed; the score is the explained variance of the true tastes in "
    "these cells.",
    score_name="R2 of unknown ratings",
    scoring=explained,
    load=load,
    pipeline=pipeline,
    plot=plot,
    splitter=folds,
    load_full=lambda: load(False, full=True),
    n_outer=4,
)
