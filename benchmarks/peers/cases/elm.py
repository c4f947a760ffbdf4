"""Random neurons and ridge regression, the penalty chosen among fifteen."""

import numpy as np

from benchmarks.peers import Case, Contender, Target

ALPHAS = np.logspace(-4, 3, 15)
N_NEW = 2000


def work(size, rng):
    """A smooth function of eight standard normal inputs, with noise."""
    n, n_hidden = size
    X = rng.normal(size=(n + N_NEW, 8))
    clean = np.sin(X[:, 0] * 1.5) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.5 * X[:, 4]
    y = clean + 0.3 * rng.normal(size=len(X))
    return {"X": X[:n], "y": y[:n], "new": X[n:], "clean": clean[n:], "n_hidden": n_hidden}


def quality(data, predicted):
    error = np.sqrt(np.mean((np.ravel(predicted) - data["clean"]) ** 2))
    return {"error": float(error / data["clean"].std())}


def ours(data):
    from skmoderndata.neural_network import ELMRegressor

    model = ELMRegressor(data["n_hidden"], alphas=ALPHAS, random_state=0)
    return model.fit(data["X"], data["y"]).predict(data["new"])


def hidden(data):
    """Outputs of the same neurons, not timed."""
    from skmoderndata.neural_network import ELMRegressor

    model = ELMRegressor(data["n_hidden"], alpha=1.0, random_state=0).fit(
        data["X"][:100], data["y"][:100]
    )
    return {
        **data,
        "H": np.tanh(data["X"] @ model.hidden_weights_ + model.hidden_intercepts_),
        "H_new": np.tanh(data["new"] @ model.hidden_weights_ + model.hidden_intercepts_),
    }


def ridge_cv(data):
    from sklearn.linear_model import RidgeCV

    return RidgeCV(ALPHAS).fit(data["H"], data["y"]).predict(data["H_new"])


def hpelm(data):
    from hpelm import ELM

    model = ELM(data["X"].shape[1], 1, norm=1.0)
    model.add_neurons(data["n_hidden"], "tanh")
    model.train(data["X"], data["y"][:, None], "r")
    return model.predict(data["new"])


def pyoselm(data):
    from pyoselm import ELMRegressor

    model = ELMRegressor(n_hidden=data["n_hidden"], activation_func="tanh", random_state=0)
    return model.fit(data["X"], data["y"]).predict(data["new"])


def _ratio(contender, least=None, most=None):
    def check(rows):
        ratios = [
            r.ratio
            for r in rows
            if r.contender == contender and r.size == LARGE and r.ratio is not None
        ]
        if not ratios:
            return None, f"{contender} not measured"
        if least is not None:
            return min(ratios) >= least, f"{min(ratios):.3g} times"
        return 1 / min(
            ratios
        ) <= most, f"ELMRegressor takes {1 / min(ratios):.3g} times as long"

    return check


def _as_accurate(rows):
    error = {(r.contender, r.size): r.value("error") for r in rows if r.ratio is not None}
    pairs = [
        (e, error["ELMRegressor", size]) for (c, size), e in error.items() if c == "RidgeCV"
    ]
    if not pairs:
        return None, "RidgeCV not measured"
    worst = max(ours / theirs for theirs, ours in pairs)
    return worst <= 1.001, f"error {worst:.6g} times the error of RidgeCV"


MIDDLE = "5,000 x 8, 200 neurons"
LARGE = "100,000 x 8, 500 neurons"
CASE = Case(
    title="Extreme learning machine",
    question="How much does it cost to choose the penalty of a network with random neurons?",
    remarks=(
        "`ELMRegressor` and `RidgeCV` choose among 15 penalties. `RidgeCV` is given the outputs "
        "of the same neurons, computed beforehand. hpelm and pyoselm fit once, with one penalty "
        "or none, and do not choose a penalty."
    ),
    ours="ELMRegressor",
    sizes={
        "500 x 8, 50 neurons": (500, 50),
        "500 x 8, 2,000 neurons": (500, 2000),
        MIDDLE: (5000, 200),
        LARGE: (100_000, 500),
    },
    quick_sizes={"1,000 x 8, 50 neurons": (1000, 50)},
    warmup=(300, 20),
    work=work,
    contenders={
        "ELMRegressor": Contender(
            run=ours,
            peer=False,
            note="chooses among 15 penalties by the leave-one-out error",
        ),
        "RidgeCV": Contender(
            run=ridge_cv,
            prepare=hidden,
            requires="scikit-learn>=1.9",
            note="chooses among the same 15 penalties, given the outputs of the hidden neurons",
        ),
        "hpelm": Contender(
            run=hpelm,
            requires="hpelm>=1.0.10",
            note="one fit with a penalty of 1 and standard weights",
        ),
        "pyoselm": Contender(
            run=pyoselm,
            requires="pyoselm>=1.2",
            note="one fit without a penalty",
            sizes=("500 x 8, 50 neurons", MIDDLE, "1,000 x 8, 50 neurons"),
            why_not="needs the pseudo-inverse of all hidden outputs",
        ),
    },
    quality=quality,
    figures={"error": "RMSE on new samples divided by the standard deviation of the function"},
    targets=(
        Target(
            text="RidgeCV takes at least 10 times as long for 100,000 samples",
            check=_ratio("RidgeCV", least=10),
        ),
        Target(
            text="at most 3 times as long as one fit of hpelm for 100,000 samples",
            check=_ratio("hpelm", most=3),
        ),
        Target(text="as accurate as RidgeCV on the same neurons", check=_as_accurate),
    ),
    repeat=3,
)
