"""Fisher scores of hidden Markov models."""

from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, Target, at_most

N_SYMBOLS = 20


class Work(NamedTuple):
    """Arrays of a model, and sequences of symbols."""

    startprob: np.ndarray
    transmat: np.ndarray
    emissionprob: np.ndarray
    X: list[Any]


def work(size, rng):
    n_states, n, length = size
    return Work(
        rng.dirichlet(np.ones(n_states)),
        rng.dirichlet(np.ones(n_states), size=n_states),
        rng.dirichlet(np.ones(N_SYMBOLS), size=n_states),
        [rng.integers(0, N_SYMBOLS, size=length) for _ in range(n)],
    )


def ours(data):
    """Scores of starts, transitions and emissions."""
    from skmoderndata.kernels import HMMFisher

    return HMMFisher(None, data.startprob, data.transmat, data.emissionprob).features(data.X)


def public_calls(data):
    """Scores of emissions by `score_samples`; transitions are not public."""
    from hmmlearn.hmm import CategoricalHMM

    model = CategoricalHMM(len(data.startprob))
    model.n_features = N_SYMBOLS
    model.startprob_ = data.startprob
    model.transmat_ = data.transmat
    model.emissionprob_ = data.emissionprob
    scores = []
    for x in data.X:
        _, posteriors = model.score_samples(x[:, None])
        N = np.zeros_like(data.emissionprob)
        np.add.at(N.T, x, posteriors)
        scores.append((N / data.emissionprob - N.sum(axis=1, keepdims=True)).ravel())
    return np.array(scores)


def quality(data, scores):
    """Compare the scores of emissions with passes implemented in the case."""
    i = len(data.X) // 2
    size = data.emissionprob.size
    x = data.X[i]
    Q = data.transmat
    E = data.emissionprob

    forward = [data.startprob * E[:, x[0]]]
    backward = [np.ones(len(Q))]
    for a in x[1:]:
        forward[-1] /= forward[-1].sum()
        forward.append((forward[-1] @ Q) * E[:, a])
    for a in x[:0:-1]:
        b = Q @ (E[:, a] * backward[-1])
        backward.append(b / b.sum())

    gamma = np.array(forward) * np.array(backward[::-1])
    gamma /= gamma.sum(axis=1, keepdims=True)

    N = np.zeros_like(E)
    np.add.at(N.T, x, gamma)
    expected = (N / E - N.sum(axis=1, keepdims=True)).ravel()

    return {
        "error": float(np.abs(scores[i, -size:] - expected).max() / np.abs(expected).max())
    }


# Sizes to which the targets refer.
TARGETED = ("5 states, 300 sequences of 200", "20 states, 100 sequences of 200")


def _speed_up(rows):
    found = [
        row.ratio
        for row in rows
        if row.contender == "hmmlearn" and row.size in TARGETED and row.ratio is not None
    ]
    if not found:
        return None, "hmmlearn is not installed"
    return min(found) >= 15, f"{min(found):.2g} times"


CASE = Case(
    title="Fisher scores of hidden Markov models",
    question="How much faster is it to compute the scores of many sequences in two compiled "
    "passes than in a loop over hmmlearn?",
    remarks=(
        "hmmlearn computes only the scores of emissions, because expected transitions are not "
        "in its public interface. `HMMFisher` computes the scores of starts, transitions and "
        "emissions."
    ),
    ours="HMMFisher",
    sizes={
        "5 states, 30 sequences of 200": (5, 30, 200),
        "5 states, 300 sequences of 200": (5, 300, 200),
        "20 states, 100 sequences of 200": (20, 100, 200),
        "5 states, 3,000 sequences of 200": (5, 3000, 200),
        "5 states, 10 sequences of 10,000": (5, 10, 10_000),
    },
    quick_sizes={"5 states, 50 sequences of 100": (5, 50, 100)},
    warmup=(3, 5, 10),
    work=work,
    contenders={
        "HMMFisher": Contender(
            run=ours, peer=False, note="the scores of starts, transitions and emissions"
        ),
        "hmmlearn": Contender(
            run=public_calls,
            requires="hmmlearn>=0.3.3",
            note="`score_samples` for each sequence; only the scores of emissions",
        ),
    },
    quality=quality,
    figures={"error": "largest relative error of the emission scores of one sequence"},
    targets=(
        Target(
            text=(
                "at least 15 times as fast as a loop over hmmlearn, for 300 and for 100 "
                "sequences"
            ),
            check=_speed_up,
        ),
        at_most("scores accurate to 1e-12", "HMMFisher", "error", 1e-12),
    ),
    repeat=5,
)
