"""Access rights from planted roles, with exceptions: which rights does the policy grant?"""

from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from benchmarks.compare.problem import STEP, Data, Problem, by_plan

N_ROLES = 6
N_RIGHTS = 60
NOISE = 0.3


def load(quick, full=False):
    from skmoderndata.datasets import make_boolean_sources

    n = by_plan(quick, full, 200, 500, 1200)
    X, clean, _, _ = make_boolean_sources(
        n, N_RIGHTS, N_ROLES, max_assignments=3, noise=NOISE, random_state=0
    )
    about = (
        f"{n} users with up to three of {N_ROLES} overlapping roles and {N_RIGHTS} rights, drawn "
        f"by make_boolean_sources; {100 * NOISE:g} % of the entries are random exceptions"
    )
    return Data(X=X.astype(float), y=clean, about=about)


def pipeline(step):
    return Pipeline([(STEP, step)])


def explained(fitted, X):
    """Rights granted by the fitted method: its reconstruction, rounded."""
    step = fitted.named_steps[STEP]
    if not hasattr(step, "inverse_transform"):  # sklearn.cluster.KMeans
        return step.cluster_centers_[step.predict(X)] > 0.5
    return step.inverse_transform(step.transform(X)) > 0.5


def fraction_right(fitted, X, clean):
    """Fraction of correct entries of the policy, without exceptions."""
    return float((explained(fitted, X) == clean).mean())


def plot(fig, methods, data, test):
    shown = test[:40]
    panels = {"with exceptions": data.X[shown] > 0.5, "policy": data.y[shown]}
    panels |= {name: explained(fitted, data.X[shown]) for name, fitted in methods.items()}
    axes = fig.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for ax, (name, bits) in zip(axes, panels.items(), strict=True):
        ax.imshow(bits, cmap="Greys", vmin=0, vmax=1, interpolation="nearest", aspect="auto")
        wrong = (bits != data.y[shown]).mean()
        ax.set(title=f"{name}\n{100 * wrong:.1f} % wrong", xlabel="right")
    axes[0].set_ylabel("user")


def folds(n_splits, random_state):
    """Shuffled folds."""
    return KFold(n_splits, shuffle=True, random_state=random_state)


PROBLEM = Problem(
    title="access rights",
    description="Users hold the rights of their roles, with exceptions. A factorisation is fitted "
    "to the rights and predicts, for unseen users, which rights their roles grant. The score is "
    "the fraction of entries that agree with the planted policy.",
    score_name="fraction of entries",
    scoring=fraction_right,
    load=load,
    pipeline=pipeline,
    plot=plot,
    load_full=lambda: load(False, full=True),
    splitter=folds,
)
