"""Topics of documents: likelihood of seen and of held-out words."""

import warnings
from typing import NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.peers import Case, Contender, Target

PASSES = 100
FREQUENCIES = 0.01
# Largest difference that counts as equal, in nats; starts differ by about 0.03.
SAME = 0.01


class Documents(NamedTuple):
    """Counts of words in two halves of each document, numbers of topics and of starts."""

    shown: sparse.csr_array
    hidden: sparse.csr_array
    k: int
    starts: int


def work(size, rng):
    """Draw documents from mixtures of topics over words with Zipf's frequencies."""
    n, n_words, k, length, starts = size
    frequency = 1 / np.arange(1, n_words + 1)
    topics = rng.gamma(0.02 + 50 * frequency / frequency.sum(), size=(k, n_words))
    topics /= topics.sum(axis=1, keepdims=True)
    mixtures = rng.dirichlet(np.full(k, 0.1), size=n)
    halves = []
    for _ in range(2):
        rows = [
            sparse.csr_array(rng.multinomial(rng.poisson(length), m @ topics)[None])
            for m in mixtures
        ]
        halves.append(sparse.csr_array(sparse.vstack(rows), dtype=float))
    return Documents(*halves, k, starts)


def per_token(X, mixtures, topics):
    """Mean log-probability of the words."""
    rows, columns = X.nonzero()
    probabilities = np.einsum("ij,ij->i", mixtures[rows], topics.T[columns])
    return float(X.data @ np.log(probabilities) / X.data.sum())


def quality(documents, found):
    """Mean likelihoods over the starts."""
    values = [likelihoods(documents, topics) for topics in found]
    return {
        "seen": float(np.mean(values, axis=0)[0]),
        "held out": float(np.mean(values, 0)[1]),
    }


def likelihoods(documents, topics):
    """Mixtures for the topics by the same routine for all contenders; both likelihoods."""
    from skmoderndata._solvers.factors.latent_semantics import Counts, fold_in

    X = documents.shown
    hidden = documents.hidden
    counts = Counts(
        X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data.copy(), X.shape[1]
    )
    topics = np.asarray(topics, dtype=float)
    topics = np.maximum(topics / topics.sum(axis=1, keepdims=True), 1e-12)
    mixtures = fold_in(counts, np.ascontiguousarray(topics.T))[0]
    seen = per_token(X, mixtures, topics)
    frequency = np.asarray(X.sum(axis=0)).ravel() + 0.01
    frequency /= frequency.sum()
    mixed = (1 - FREQUENCIES) * topics + FREQUENCIES * frequency
    return seen, per_token(hidden, mixtures, mixed)


def starts(make):
    """Fit the models that `make(number of topics, seed)` gives, one after the other."""

    def run(documents):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fixed number of passes causes warnings
            models = [make(documents.k, seed) for seed in range(documents.starts)]
            return [model.fit(documents.shown).components_ for model in models]

    return run


def ours(**settings):
    def make(k, seed):
        from skmoderndata.decomposition import ProbabilisticLSA

        return ProbabilisticLSA(k, random_state=seed, **settings)

    return starts(make)


def divergence_nmf(k, seed):
    from sklearn.decomposition import NMF

    return NMF(
        k,
        init="random",
        solver="mu",
        beta_loss="kullback-leibler",
        max_iter=PASSES,
        tol=0.0,
        random_state=seed,
    )


def dirichlet(k, seed):
    from sklearn.decomposition import LatentDirichletAllocation

    return LatentDirichletAllocation(k, max_iter=20, random_state=seed)


def _pairs(rows, name, mine):
    found = {(row.size, row.contender): row for row in rows if row.ratio is not None}
    return [
        (row, found[size, mine])
        for (size, other), row in found.items()
        if other == name and (size, mine) in found
    ]


def _divergence_beaten(rows):
    pairs = _pairs(rows, "scikit-learn NMF", "ProbabilisticLSA")
    if not pairs:
        return None, "not measured"
    ok = all(
        other.ratio > 1 and mine.quality["seen"] >= other.quality["seen"] - SAME
        for other, mine in pairs
    )
    return ok, "; ".join(
        f"NMF takes {other.ratio:.1f} times as long, with a log-likelihood of "
        f"{other.quality['seen']:.3f} (ours: {mine.quality['seen']:.3f})"
        for other, mine in pairs
    )


def _passes(rows):
    pairs = _pairs(rows, "scikit-learn NMF", "as many passes as NMF")
    if not pairs:
        return None, "not measured"
    ratios = [other.ratio / mine.ratio for other, mine in pairs]
    return min(ratios) > 1, "; ".join(f"{ratio:.1f} times as long" for ratio in ratios)


LARGE = "4,000 documents of 80 words, 20 topics"
SIZES = {
    "200 documents of 40 words, 5 topics": (200, 300, 5, 40, 5),
    LARGE: (4000, 5000, 20, 80, 1),
    "1,000 documents of 60 words, 10 topics": (1000, 1500, 10, 60, 5),
}
QUICK = {"200 documents, 5 topics": (200, 300, 5, 40, 2)}
SMALL = tuple(label for label in (*QUICK, *SIZES) if label != LARGE)

CASE = Case(
    title="Topics of documents",
    question=(
        "Each contender learns topics from half of the words of each document. How likely "
        "are these words, and the words of the other half, under the learned topics?"
    ),
    remarks=(
        "All contenders use one thread. The likelihood has many maxima, so each contender "
        "starts five times, but only once for 4,000 documents; times are "
        "sums over the starts, and likelihoods are means. Documents are drawn from mixtures "
        "of topics; the frequencies of the words follow Zipf's law. The 4,000 documents have "
        "about 2.4e5 non-zero counts. For every contender, the same routine fits the "
        "mixtures of its topics to the training words, to 1e-6 nats per token. Before "
        "held-out words are scored, one per cent of each topic is replaced by the word "
        "frequencies in all documents. Otherwise, a single word that does not occur in a "
        "topic would dominate the result."
    ),
    ours="ProbabilisticLSA",
    sizes=SIZES,
    quick_sizes=QUICK,
    warmup=(30, 60, 3, 20, 1),
    work=work,
    contenders={
        "ProbabilisticLSA": Contender(run=ours(), peer=False, note="defaults"),
        "as many passes as NMF": Contender(
            run=ours(max_iter=PASSES, tol=0.0),
            peer=False,
            note=f"`max_iter={PASSES}, tol=0`",
        ),
        "smoothed": Contender(run=ours(smoothing=0.02), peer=False, note="`smoothing=0.02`"),
        "tempered": Contender(
            run=ours(tempering=True),
            peer=False,
            note="`tempering=True`",
            sizes=SMALL,
            why_not="shown at the smaller sizes",
        ),
        "scikit-learn NMF": Contender(
            run=starts(divergence_nmf),
            requires="scikit-learn>=1.9",
            note=f"`beta_loss='kullback-leibler'`, `solver='mu'`, {PASSES} iterations",
        ),
        "scikit-learn LDA": Contender(
            run=starts(dirichlet),
            requires="scikit-learn>=1.9",
            note="`LatentDirichletAllocation(max_iter=20)`",
            sizes=SMALL,
            why_not="takes a minute; shown at the smaller sizes",
        ),
    },
    quality=quality,
    figures={
        "seen": "log-likelihood of the training words, in nats per token",
        "held out": "log-likelihood of the other half of the words, in nats per token",
    },
    targets=(
        Target(
            text=(
                "words as likely as under Kullback-Leibler NMF with 100 iterations, to "
                "within 0.01 nats, in less time"
            ),
            check=_divergence_beaten,
        ),
        Target(
            text="faster than Kullback-Leibler NMF for the same number of passes",
            check=_passes,
        ),
    ),
    excluded={
        "enstop 0.2.6": "not released since 2021; requires hdbscan, umap-learn and dask",
        "plsa 0.6.0": (
            "is made for texts, and forms dense arrays of topics times documents times words"
        ),
    },
    repeat=3,
)
