"""The smallest ball around Gaussian points."""

import numpy as np

from benchmarks.peers import Case, Contender, Target, at_most


def work(size, rng):
    n, p = size
    return rng.normal(size=(n, p))


def ours(**settings):
    def run(X):
        from skmoderndata.svm import MinimumEnclosingBall

        model = MinimumEnclosingBall(**settings).fit(X)
        return model.center_, model.radius_lower_, model.n_passes_

    return run


def dual_by_cvxpy(X):
    """`min |X' a|^2 - q a` over the simplex, for n a."""
    import cvxpy as cp

    Z = X - X.mean(axis=0)
    q = (Z**2).sum(axis=1)
    n = len(Z)
    b = cp.Variable(n, nonneg=True)
    objective = cp.sum_squares(Z.T @ b) / n - q @ b
    cp.Problem(cp.Minimize(objective), [cp.sum(b) == n]).solve(solver=cp.CLARABEL)
    a = np.maximum(b.value, 0)
    a /= a.sum()
    lower = np.sqrt(a @ q - np.sum((a @ Z) ** 2))
    return a @ X, lower, 1


def cone_by_cvxpy(X):
    """`min r : |x_i - c| <= r`, as a second-order cone program."""
    import cvxpy as cp

    c = cp.Variable(X.shape[1])
    r = cp.Variable()
    distances = cp.norm(X - cp.reshape(c, (1, X.shape[1]), order="C"), axis=1)
    cp.Problem(cp.Minimize(r), [distances <= r]).solve(solver=cp.CLARABEL)
    return c.value, None, 1


def quality(X, found):
    center, lower, passes = found
    radius = np.sqrt(
        max(
            ((X[s : s + 10**5] - center) ** 2).sum(axis=1).max()
            for s in range(0, len(X), 10**5)
        )
    )
    figures = {"radius": radius, "passes": passes}
    if lower:
        figures["gap"] = radius / lower - 1
    return figures


def _at_once(size, limit):
    def check(rows):
        for row in rows:
            if row.contender == "MinimumEnclosingBall" and row.size == size and row.seconds:
                seconds = float(np.median(row.seconds))
                return seconds < limit, f"{seconds:.3g} s"
        return None, "not measured"

    return check


def _many_times(rows):
    ratios = [
        row.ratio
        for row in rows
        if row.contender == "cvxpy, dual" and row.size == "100 000 x 10" and row.ratio
    ]
    return (ratios[0] >= 50, f"{ratios[0]:.3g}") if ratios else (None, "not measured")


CASE = Case(
    title="Minimum enclosing ball",
    question=(
        "How long does it take to determine the radius of the smallest ball to within a millionth?"
    ),
    remarks=(
        "The core set solver runs on one core of the processor. The points are Gaussian."
    ),
    ours="MinimumEnclosingBall",
    sizes={
        "1 000 x 5": (1_000, 5),
        "200 x 2 000": (200, 2_000),
        "10 000 x 10": (10_000, 10),
        "100 000 x 10": (100_000, 10),
        "100 000 x 100": (100_000, 100),
        "1 000 000 x 10": (1_000_000, 10),
    },
    quick_sizes={"1 000 x 5": (1_000, 5)},
    warmup=(300, 4),
    work=work,
    contenders={
        "MinimumEnclosingBall": Contender(
            run=ours(), peer=False, note="the core set solver, to a gap of 1e-6"
        ),
        "away steps": Contender(
            run=ours(solver="away_steps", max_iter=20_000),
            peer=False,
            note="the same class with `solver='away_steps'`, to a gap of 1e-6",
            sizes=("1 000 x 5", "10 000 x 10", "100 000 x 10"),
            why_not="needs one pass for every step",
        ),
        "cvxpy, dual": Contender(
            run=dual_by_cvxpy,
            requires="cvxpy>=1.7",
            note="the dual problem as a sum of squares, solved by Clarabel",
            sizes=("1 000 x 5", "10 000 x 10", "100 000 x 10"),
            why_not="takes minutes",
        ),
        "cvxpy, cones": Contender(
            run=cone_by_cvxpy,
            requires="cvxpy>=1.7",
            note="one second-order cone for each point, solved by Clarabel",
            sizes=("1 000 x 5", "10 000 x 10"),
            why_not="takes minutes",
        ),
    },
    quality=quality,
    figures={
        "radius": "radius of the ball around the computed centre that contains all points",
        "passes": "number of passes over the data",
        "gap": "radius divided by the lower bound, minus one",
    },
    targets=(
        at_most("the gap is at most a millionth", "MinimumEnclosingBall", "gap", 1e-6),
        at_most(
            "at most 6 passes for 100 000 x 100",
            "MinimumEnclosingBall",
            "passes",
            6,
            sizes=("100 000 x 100",),
        ),
        Target(
            text="100 000 x 100 takes less than a second", check=_at_once("100 000 x 100", 1.0)
        ),
        Target(
            text="1 000 000 x 10 takes less than two seconds",
            check=_at_once("1 000 000 x 10", 2.0),
        ),
        Target(text="the dual problem in cvxpy takes 50 times as long", check=_many_times),
    ),
    repeat=3,
)
