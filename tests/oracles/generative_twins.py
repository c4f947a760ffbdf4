"""Twins of the kernels of generative models, by enumeration of hidden paths."""

from itertools import pairwise, product

import numpy as np

from skmoderndata import kernels as sk
from tests.oracles.kernel_twins import Twin

START = np.array([0.6, 0.4])
MOVE = np.array([[0.7, 0.3], [0.2, 0.8]])
EMIT = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])


def strings(rng, n):
    """Draw sequences of 1 to 6 symbols of three."""
    return ["".join(rng.choice(list("abc"), size=k)) for k in rng.integers(1, 7, size=n)]


def path_probability(path, seen, startprob, transmat, emissionprob):
    """Probability of a hidden path and of what it emits."""
    p = startprob[path[0]]
    for k, j in pairwise(path):
        p *= transmat[k, j]
    for k, a in zip(path, seen, strict=True):
        p *= emissionprob[k, a]
    return p


def score_by_paths(seen, startprob, transmat, emissionprob, constrained=True):
    """Scores of a hidden Markov model by enumeration of all hidden paths."""
    S, M = emissionprob.shape
    starts = np.zeros(S)
    moves = np.zeros((S, S))
    emits = np.zeros((S, M))
    total = 0.0
    for path in product(range(S), repeat=len(seen)):
        p = path_probability(path, seen, startprob, transmat, emissionprob)
        total += p
        starts[path[0]] += p
        for k, j in pairwise(path):
            moves[k, j] += p
        for k, a in zip(path, seen, strict=True):
            emits[k, a] += p
    counts = [starts[None] / total, moves / total, emits / total]
    scores = []
    for N, P in zip(counts, [startprob[None], transmat, emissionprob], strict=True):
        g = N / P - (N.sum(axis=1, keepdims=True) if constrained else 0.0)
        scores.append(g.ravel())
    return scores


def hmm_fisher(kernel, x, z):
    """Inner product of the scores, information matrix by its inverse."""
    chosen = ["ste".index(letter) for letter in "ste" if letter in kernel.parameters]
    seen = [["abc".index(a) for a in s] for s in (x, z)]
    model = (kernel.startprob, kernel.transmat, kernel.emissionprob)
    g, h = (
        np.concatenate([score_by_paths(s, *model, kernel.constrained)[i] for i in chosen])
        for s in seen
    )
    if isinstance(kernel.information, str):
        return g @ h
    info = np.asarray(kernel.information)
    return g @ np.linalg.inv(np.diag(info) if info.ndim == 1 else info) @ h


def markov_fisher(kernel, x, z):
    """Scores of a Markov chain from counts in dictionaries."""
    M = 3
    p = kernel.p
    contexts = ["".join(v) for v in product("abc", repeat=p - 1)]
    total = 0.0
    size = len(contexts)
    info = np.ones(size * 4) if isinstance(kernel.information, str) else kernel.information

    # compute the score of the first symbols
    for i, v in enumerate(contexts):
        starts = []
        for s in (x, z):
            long = len(s) >= p - 1 and len(s) > 0
            starts.append((s.startswith(v) / kernel.startprob[i] - 1) if long else 0.0)
        total += starts[0] * starts[1] / info[i]

        # compute the score of each transition: counts minus visits
        for a in range(M):
            g = []
            for s in (x, z):
                windows = [s[j : j + p] for j in range(len(s) - p + 1)]
                visits = sum(w.startswith(v) for w in windows)
                g.append(windows.count(v + "abc"[a]) / kernel.transmat[i, a] - visits)
            total += g[0] * g[1] / info[size + 3 * i + a]
    return total


WEIGHTS = np.array([0.3, 0.7])
MEANS = np.array([[0.0, 1.0], [1.5, -0.5]])
COVARIANCES = {
    "full": np.array([[[1.0, 0.3], [0.3, 2.0]], [[0.5, -0.1], [-0.1, 0.8]]]),
    "diag": np.array([[1.0, 2.0], [0.5, 0.8]]),
    "spherical": np.array([[1.3, 1.3], [0.6, 0.6]]),
    "tied": np.array([[[1.0, 0.3], [0.3, 2.0]]] * 2),
}


def mixture(kind):
    """Model of two components as settled kernels hold it."""
    from skmoderndata.kernels._generative.mixtures import NormalMixture

    return NormalMixture(WEIGHTS, MEANS, COVARIANCES[kind], kind)


def log_density(x, logits, means, covariances):
    """Log-density of a mixture with weights from logits, in plain formulas."""
    w = np.exp(logits) / np.exp(logits).sum()
    total = 0.0
    for k in range(len(w)):
        C = np.diag(covariances[k]) if covariances[k].ndim == 1 else covariances[k]
        d = x - means[k]
        density = np.exp(-0.5 * d @ np.linalg.inv(C) @ d) / np.sqrt(
            np.linalg.det(2 * np.pi * C)
        )
        total += w[k] * density
    return np.log(total)


def mixture_score(kernel, x):
    """Scores of a mixture by the complex-step derivative of its log-density."""
    model = kernel.model
    h = 1e-30
    logits = np.log(model.weights)
    shared = {"tied": (0,), "spherical": (1,)}.get(model.covariance_type, ())

    def derivative(which, index):
        parts = [logits.astype(complex), model.means.astype(complex)]
        parts.append(model.covariances.astype(complex))
        parts[which][index] += 1j * h
        return log_density(x, *parts).imag / h

    g = {}
    for which, letter in enumerate("wmc"):
        shape = (logits, model.means, model.covariances)[which].shape
        g[letter] = np.array([derivative(which, i) for i in np.ndindex(shape)]).reshape(shape)
    g["w"] = g["w"] / model.weights
    if shared:
        g["c"] = g["c"].sum(axis=shared)
    return np.concatenate(
        [g[letter].ravel() for letter in "wmc" if letter in kernel.parameters]
    )


def same_length(rng, n):
    """Draw sequences of four symbols of three, for a tree of four nodes."""
    return ["".join(rng.choice(list("abc"), size=4)) for _ in range(n)]


def common_path(kernel, x, z):
    """Sum over all hidden states of the nodes of a tree, or of the steps of a line."""
    if len(x) != len(z):
        return 0.0
    parents = getattr(kernel, "parents", range(-1, len(x) - 1))
    E = kernel.emissionprob
    total = 0.0
    for h in product(range(len(kernel.startprob)), repeat=len(x)):
        p = kernel.startprob[h[0]] if h else 1.0
        for v, u in enumerate(parents):
            if u >= 0:
                p *= kernel.transmat[h[u], h[v]]
            p *= E[h[v], "abc".index(x[v])] * E[h[v], "abc".index(z[v])]
        total += p
    return total


def alignments(kernel, s, t, state="AB"):
    """Probability of the remainders of two strings by recursion over the next symbol."""
    d = kernel.delta
    e = kernel.epsilon
    tau = kernel.tau
    independent = kernel.topology == "independent"

    # probabilities that both strings continue, that they end, and that only one has a symbol
    if independent:
        skip = {"AB": (1 - d) ** 2, "A": (1 - e) * (1 - d), "B": 1 - e}[state]
        pair = skip * (1 - tau)
        end = skip * tau
        into = {"AB": (d, d * (1 - d)), "A": (e, d * (1 - e)), "B": (0.0, e)}[state]
    else:
        pair = 1 - 2 * d - tau if state == "AB" else 1 - e - tau
        end = tau
        into = {"AB": (d, d), "A": (e, 0.0), "B": (0.0, e)}[state]
    q = kernel.insert
    P = np.asarray(kernel.joint)

    # sum over the next symbol of each string
    total = end if not s and not t else 0.0
    a, b = ("abc".find(w[0]) if w else None for w in (s, t))

    # both strings continue, or only one of them does
    if s and t:
        total += pair * P[a, b] * alignments(kernel, s[1:], t[1:], "AB")
    if s and into[0]:
        total += into[0] * q[a] * alignments(kernel, s[1:], t, "A")
    if t and into[1]:
        total += into[1] * q[b] * alignments(kernel, s, t[1:], "B")
    return total


def mixture_probability(kernel, x, z):
    """Sum over components of products of densities."""
    model = kernel.model
    total = 0.0
    for k, weight in enumerate(model.weights):
        C = model.covariances[k]
        C = np.diag(C) if C.ndim == 1 else C
        for v in (x, z):
            d = v - model.means[k]
            weight = weight * np.exp(-0.5 * d @ np.linalg.inv(C) @ d)
        total += weight / np.linalg.det(2 * np.pi * C)
    return total


JOINT = np.array([[0.3, 0.05, 0.05], [0.05, 0.2, 0.05], [0.05, 0.05, 0.2]])
INSERT = np.array([0.5, 0.3, 0.2])
CHAIN = {
    2: (
        np.array([0.5, 0.3, 0.2]),
        np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.3, 0.4, 0.3]]),
    ),
    1: (np.array([1.0]), np.array([[0.2, 0.5, 0.3]])),
    3: (np.full(9, 1 / 9), np.tile([[0.2, 0.5, 0.3]], (9, 1))),
}
ARRAYS = {"startprob": START, "transmat": MOVE, "emissionprob": EMIT, "symbols": "abc"}
TWINS = {
    "HMMFisher": Twin(
        lambda: [
            sk.HMMFisher(**ARRAYS),
            sk.HMMFisher(**ARRAYS, parameters="te", constrained=False),
            sk.HMMFisher(**ARRAYS, parameters="s", information=np.array([0.5, 2.0])),
            sk.HMMFisher(
                **ARRAYS, parameters="t", information=np.eye(4) + 0.2 * np.ones((4, 4))
            ),
        ],
        hmm_fisher,
        strings,
    ),
    "MarkovFisher": Twin(
        lambda: (
            [
                sk.MarkovFisher(p, startprob=CHAIN[p][0], transmat=CHAIN[p][1], symbols="abc")
                for p in CHAIN
            ]
            + [
                sk.MarkovFisher(
                    1, *CHAIN[1], symbols="abc", information=np.array([0.5, 2.0, 1.0, 3.0])
                )
            ]
        ),
        markov_fisher,
        strings,
    ),
    "FixedLengthHMM": Twin(
        lambda: [
            sk.FixedLengthHMM(**ARRAYS),
            sk.FixedLengthHMM(START, np.full((2, 2), 0.5), EMIT, "abc"),
        ],
        common_path,
        lambda rng, n: [
            "".join(rng.choice(list("abc"), size=k)) for k in rng.integers(0, 4, n)
        ],
    ),
    "HiddenTree": Twin(
        lambda: [
            sk.HiddenTree([-1, 0, 0, 1], **ARRAYS),
            sk.HiddenTree(np.array([-1, 0, 1, 2]), **ARRAYS),
            sk.HiddenTree([-1, 0, 0, 0], **ARRAYS),
        ],
        common_path,
        same_length,
    ),
    "MixtureP": Twin(
        lambda: [sk.MixtureP(mixture("full")), sk.MixtureP(mixture("diag"))],
        mixture_probability,
        lambda rng, n: rng.normal(size=(n, 2)),
    ),
    "PairHMM": Twin(
        lambda: [
            sk.PairHMM(JOINT, INSERT, symbols="abc"),
            sk.PairHMM(JOINT, INSERT, 0.4, 0.5, 0.05, symbols="abc"),
            sk.PairHMM(JOINT, INSERT, 0.2, 0.3, 0.1, "standard", "abc"),
        ],
        alignments,
        lambda rng, n: [
            "".join(rng.choice(list("abc"), size=k)) for k in rng.integers(0, 6, n)
        ],
    ),
    "Fisher": Twin(
        lambda: [
            *[sk.Fisher(mixture(kind)) for kind in COVARIANCES],
            sk.Fisher(mixture("full"), parameters="wm"),
        ],
        lambda k, x, z: float(mixture_score(k, x) @ mixture_score(k, z)),
        lambda rng, n: rng.normal(size=(n, 2)),
    ),
}
