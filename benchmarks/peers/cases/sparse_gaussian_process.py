"""Gaussian process regression on 10,000 or more samples through inducing inputs."""

import numpy as np

from benchmarks.peers import Case, Contender, Target

N_NEW = 2000
LARGE = "100,000 x 8, 200 inducing"


def work(size, rng):
    """A noisy smooth function of eight uniform inputs; three inputs matter little."""
    n, m = size
    X = rng.uniform(size=(n + N_NEW, 8))
    clean = (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20 * (X[:, 2] - 0.5) ** 2
        + 10 * X[:, 3]
        + 5 * X[:, 4]
    )
    y = clean + 1.0 * rng.normal(size=len(X))
    return {"X": X[:n], "y": y[:n], "new": X[n:], "clean": clean[n:], "noisy": y[n:], "m": m}


def quality(data, found):
    mean, std = found
    error = {"error": float(np.sqrt(np.mean((mean - data["clean"]) ** 2)))}
    if std is not None:
        z = (mean - data["noisy"]) / std
        error["density"] = float(np.mean(0.5 * np.log(2 * np.pi * std**2) + 0.5 * z**2))
    return error


def ours(data):
    from skmoderndata.gaussian_process import SparseGaussianProcessRegressor

    model = SparseGaussianProcessRegressor(n_inducing=data["m"], random_state=0)
    model.fit(data["X"], data["y"])
    return model.predict(data["new"], return_std=True, include_noise=True)


def committee(data):
    from skmoderndata.gaussian_process import BayesianCommitteeMachine

    model = BayesianCommitteeMachine(random_state=0).fit(data["X"], data["y"])
    return model.predict(data["new"], return_std=True, include_noise=True)


def exact(data):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel() * RBF(np.ones(8), (0.1, 1e9)) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, normalize_y=True)
    model.fit(data["X"][:1000], data["y"][:1000])
    return model.predict(data["new"], return_std=True)


def nystroem(data):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(
        Nystroem(gamma=0.5, n_components=data["m"], random_state=0),
        RidgeCV(np.logspace(-6, 2, 9)),
    )
    return model.fit(data["X"], data["y"]).predict(data["new"]), None


def gpy(data):
    import GPy

    rng = np.random.default_rng(0)
    rows = rng.choice(len(data["X"]), min(len(data["X"]), 5000), replace=False)
    X = data["X"][rows]
    y = data["y"][rows, None]
    shift = y.mean()
    scale = y.std()
    model = GPy.models.SparseGPRegression(
        X, (y - shift) / scale, GPy.kern.RBF(8, ARD=True), Z=X[: data["m"]].copy()
    )
    model.optimize("lbfgsb", max_iters=33)
    mean, variance = model.predict(data["new"])
    return mean[:, 0] * scale + shift, np.sqrt(variance[:, 0]) * scale


def _better(figure, contender):
    def check(rows):
        found = {(r.contender, r.size): r.value(figure) for r in rows if r.ratio is not None}
        pairs = [
            (found["SparseGaussianProcessRegressor", size], value)
            for (name, size), value in found.items()
            if name == contender
        ]
        if not pairs:
            return None, f"{contender} not measured"
        worst = max(ours - theirs for ours, theirs in pairs)
        return worst < 0, f"difference {worst:.3g}"

    return check


CASE = Case(
    title="Sparse Gaussian process",
    question=(
        "How long does a Gaussian process on 1,000 to 100,000 samples take, and how much "
        "accuracy do you gain?"
    ),
    remarks=(
        "Each fit is complete: L-BFGS finds the hyperparameters, the noise and the inducing "
        "inputs on 5,000 samples, and the posterior uses all samples. GPy fits and keeps "
        "only 5,000 samples, "
        "with the same number of iterations. `GaussianProcessRegressor` uses 1,000 samples."
    ),
    ours="SparseGaussianProcessRegressor",
    sizes={
        "1,000 x 8, 50 inducing": (1000, 50),
        "10,000 x 8, 100 inducing": (10_000, 100),
        LARGE: (100_000, 200),
    },
    quick_sizes={"3,000 x 8, 50 inducing": (3000, 50)},
    warmup=(300, 20),
    work=work,
    contenders={
        "SparseGaussianProcessRegressor": Contender(
            run=ours, peer=False, note="the default parameters"
        ),
        "BayesianCommitteeMachine": Contender(
            run=committee, peer=False, note="experts of 500 samples"
        ),
        "GaussianProcessRegressor": Contender(
            run=exact, requires="scikit-learn>=1.9", note="exact process on 1,000 samples"
        ),
        "Nystroem, RidgeCV": Contender(
            run=nystroem,
            requires="scikit-learn>=1.9",
            note="as many components as inducing inputs, with `gamma=0.5`; gives no variances",
        ),
        "GPy": Contender(
            run=gpy, requires="GPy>=1.13", note="`SparseGPRegression` on 5,000 samples"
        ),
    },
    quality=quality,
    figures={
        "error": (
            "RMSE of the function on new samples, whose noise has a standard deviation of 1"
        ),
        "density": "negative log density of new targets; 1.419 for the true function",
    },
    targets=(
        Target(
            text="better density than with the exact process on 1,000 samples",
            check=_better("density", "GaussianProcessRegressor"),
        ),
        Target(
            text="lower error than with Nystroem features and ridge regression",
            check=_better("error", "Nystroem, RidgeCV"),
        ),
    ),
    repeat=3,
)
