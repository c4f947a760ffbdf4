"""Kernel matrices and features of strings: gap-weighted, spectrum, mismatch."""

from collections import Counter
from statistics import median
from typing import NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.peers import Case, Contender, Target, at_least, at_most, none_faster

DNA = "acgt"
PROTEIN = "ACDEFGHIKLMNPQRSTVWY"
ENGLISH = "etaoinshrdlucmfwypvbgkjqxz "
# percentages of the letters in English text, in the order above
LETTERS = (12.7, 9.1, 8.2, 7.5, 7, 6.7, 6.3, 6.1, 6, 4.3, 4, 2.8, 2.8, 2.4, 2.4, 2.2, 2, 1.9, 1,
           1.5, 2, 0.8, 0.15, 0.1, 0.15, 0.07, 18)  # fmt: skip


class Task(NamedTuple):
    """Which kernel, on which strings."""

    kind: str  # "gap", "spectrum", "features" or "mismatch", or "warmup" for all of them
    symbols: str
    n: int
    lengths: tuple[int, int]  # minimum length, and maximum length plus one
    p: int
    m: int = 0


class Strings(NamedTuple):
    """The work of one size."""

    task: Task
    X: list[str]


def work(task, rng):
    weights = np.array(LETTERS) / sum(LETTERS) if task.symbols == ENGLISH else None
    lengths = rng.integers(*task.lengths, size=task.n)
    X = ["".join(rng.choice(list(task.symbols), size=k, p=weights)) for k in lengths]
    return Strings(task, X)


def kernel_of(task):
    from skmoderndata.kernels import GapWeighted, Mismatch, Normalized, PSpectrum

    if task.kind == "gap":
        return Normalized(GapWeighted(task.p, 0.5, lengths=[1.0] * task.p))
    if task.kind == "mismatch":
        return Mismatch(task.p, task.m, task.symbols)
    return PSpectrum(task.p)


def ours(strings):
    if strings.task.kind == "warmup":
        for kind in ("gap", "spectrum", "features", "mismatch"):
            ours(strings._replace(task=strings.task._replace(kind=kind)))
        return None
    kernel = kernel_of(strings.task)
    return kernel.features(strings.X) if strings.task.kind == "features" else kernel(strings.X)


def strkernels(strings):
    from strkernels import SubsequenceStringKernel

    kernel = SubsequenceStringKernel(maxlen=strings.task.p, ssk_lambda=0.5)
    return kernel(strings.X, strings.X)


def count_vectorizer(strings):
    from sklearn.feature_extraction.text import CountVectorizer

    p = strings.task.p
    model = CountVectorizer(analyzer="char", ngram_range=(p, p), lowercase=False)
    counts = model.fit_transform(strings.X)
    return counts if strings.task.kind == "features" else (counts @ counts.T).toarray()


def neighbourhoods(strings):
    features = kernel_of(strings.task).features(strings.X)
    return (features @ features.T).toarray()


def gap_weighted(s, t, p):
    """Sum over the subsequences of 1 to p symbols, by the recursion of the definition."""
    total = 0.0
    before = np.ones((len(s) + 1, len(t) + 1))
    equal = np.array([[a == b for b in t] for a in s])
    powers_s = 0.5 ** np.subtract.outer(np.arange(len(s)), np.arange(len(s)))
    powers_t = 0.5 ** np.subtract.outer(np.arange(len(t)), np.arange(len(t)))
    powers_s = np.tril(powers_s)
    powers_t = np.tril(powers_t)
    for _ in range(p):
        ends = 0.25 * equal * before[:-1, :-1]  # count subsequences that end at both positions
        total += ends.sum()
        before = np.zeros_like(before)
        before[1:, 1:] = powers_s @ ends @ powers_t.T
    return total


def mismatch(s, t, p, m):
    """Sum over pairs of windows of the number of words near both."""
    from itertools import product

    found = [Counter(), Counter()]
    words = ["".join(w) for w in product(DNA, repeat=p)]
    for counts, x in zip(found, (s, t), strict=True):
        for v, n in Counter(x[i : i + p] for i in range(len(x) - p + 1)).items():
            for w in words:
                if sum(a != b for a, b in zip(w, v, strict=True)) <= m:
                    counts[w] += n
    return float(sum(found[0][w] * found[1][w] for w in found[0]))


def value(task, s, t):
    if task.kind == "gap":
        k = {pair: gap_weighted(*pair, task.p) for pair in ((s, t), (s, s), (t, t))}
        return k[s, t] / np.sqrt(k[s, s] * k[t, t])
    if task.kind == "mismatch":
        return mismatch(s, t, task.p, task.m)
    p = task.p
    a, b = (Counter(x[i : i + p] for i in range(len(x) - p + 1)) for x in (s, t))
    return float(sum(a[u] * b[u] for u in a))


def quality(strings, result):
    """Largest relative difference of three entries from loops over the definition."""
    if sparse.issparse(result):
        result = (result[:3] @ result[:3].T).toarray()
    pairs = [(0, 1), (0, 2), (1, 2)] if strings.task.kind != "mismatch" else [(0, 1)]
    exact = np.array([value(strings.task, strings.X[i], strings.X[j]) for i, j in pairs])
    found = np.array([float(result[i, j]) for i, j in pairs])
    return {"difference": np.abs(found / np.where(exact > 0, exact, 1.0) - (exact > 0)).max()}


def in_time(size, seconds):
    """Target: our median time at one size, in seconds."""

    def check(rows):
        row = next((r for r in rows if (r.contender, r.size) == ("skmoderndata", size)), None)
        if row is None or not row.seconds:
            return None, "not measured"
        return median(row.seconds) <= seconds, f"{1e3 * median(row.seconds):.0f} ms"

    return Target(text=(
        f"`{size}` takes at most {1e3 * seconds:.0f} ms on the machine "
        "for which this target was set"
    ), check=check)  # fmt: skip


LONG = (200, 1000)
WORD = (3, 13)
LETTERS_ONLY = ENGLISH.strip()
GAPS = {
    "gap-weighted p = 3, 40 DNA strings": Task("gap", DNA, 40, (100, 1000), 3),
    "gap-weighted p = 5, 40 English": Task("gap", ENGLISH, 40, (100, 1000), 5),
}
WORDS = {
    "gap-weighted p = 3, 1,000 words": Task("gap", LETTERS_ONLY, 1000, WORD, 3),
    "spectrum p = 3, 5,000 words": Task("spectrum", LETTERS_ONLY, 5000, WORD, 3),
}
SPECTRA = {
    f"{what} p = {p}, 1,000 {name}": Task(kind, symbols, 1000, LONG, p)
    for what, kind in (("spectrum", "spectrum"), ("features", "features"))
    for name, symbols, p in (
        ("DNA", DNA, 4), ("English", ENGLISH, 4), ("protein", PROTEIN, 3), ("DNA", DNA, 8)
    )
}  # fmt: skip
MISMATCHES = {
    "mismatch (5, 1), 1,000 DNA": Task("mismatch", DNA, 1000, LONG, 5, 1),
    "mismatch (6, 2), 1,000 DNA": Task("mismatch", DNA, 1000, LONG, 6, 2),
}
REACH = dict(zip(SPECTRA, (5, 3, 2, 2, 5, 3, 3, 3), strict=True))

CASE = Case(
    title="Kernels on strings",
    question=(
        "How long does it take to compute kernel matrices and features of strings, for "
        "gap-weighted subsequences, substrings, and substrings with mismatches?"
    ),
    remarks=(
        "The data are random strings of 200 to 1,000 symbols (100 to 1,000 for the "
        "gap-weighted kernel), and words of 3 to 12 letters. strkernels sums over the "
        "lengths 1 to p and normalises the kernel; the kernels of this package do the same "
        "in this benchmark. All contenders run in one thread. Three entries of each matrix, "
        "or one entry for mismatches, are compared with loops over the definition; the "
        "entries of CountVectorizer differ for English because it treats several spaces as "
        "one."
    ),
    ours="skmoderndata",
    sizes={**GAPS, **SPECTRA, **MISMATCHES, **WORDS},
    quick_sizes={
        "gap-weighted p = 3, 8 DNA strings": Task("gap", DNA, 8, (50, 100), 3),
        "spectrum p = 4, 50 DNA": Task("spectrum", DNA, 50, (50, 100), 4),
    },
    warmup=Task("warmup", DNA, 4, (5, 9), 2, 1),
    work=work,
    contenders={
        "skmoderndata": Contender(
            run=ours, peer=False, note="`Normalized(GapWeighted)`, `PSpectrum` and `Mismatch`"
        ),
        "strkernels": Contender(
            run=strkernels,
            requires="strkernels>=0.2.15",
            note=(
                "`SubsequenceStringKernel`, compiled C code that computes one pair at a "
                "time; its licence is the GPL"
            ),
            sizes=(
                *GAPS,
                "gap-weighted p = 3, 1,000 words",
                "gap-weighted p = 3, 8 DNA strings",
            ),
            why_not="its spectrum kernel supports only three fixed alphabets",
        ),
        "CountVectorizer": Contender(
            run=count_vectorizer,
            note=(
                "counts substrings of characters in scikit-learn, then multiplies the "
                "sparse counts"
            ),
            sizes=(*SPECTRA, "spectrum p = 3, 5,000 words", "spectrum p = 4, 50 DNA"),
            why_not="counts only substrings",
        ),
        "neighbourhoods": Contender(
            run=neighbourhoods,
            peer=False,
            note="multiplies the features of `Mismatch`",
            sizes=("mismatch (5, 1), 1,000 DNA",),
            why_not="computed only for mismatches; with (6, 2) the product takes far longer",
        ),
    },
    quality=quality,
    figures={"difference": "largest relative difference from loops over the definition"},
    targets=(
        at_most("values accurate to 1e-10", "skmoderndata", "difference", 1e-10),
        *(at_least(f"strkernels takes 6 times as long for `{size}`", "strkernels", "ratio", 6,
                   sizes=(size,)) for size in GAPS),
        *(at_least(f"CountVectorizer takes {ratio} times as long for `{size}`",
                   "CountVectorizer", "ratio", ratio, sizes=(size,))
          for size, ratio in REACH.items()),
        at_least("strkernels takes 3 times as long for the gap-weighted kernel of words",
                 "strkernels", "ratio", 3, sizes=("gap-weighted p = 3, 1,000 words",)),
        in_time("mismatch (5, 1), 1,000 DNA", 0.1),
        in_time("mismatch (6, 2), 1,000 DNA", 0.7),
        none_faster(
            "no peer with values accurate to 1e-8 is faster",
            qualifies=lambda row: row.quality.get("difference", 1) <= 1e-8,
        ),
    ),
    excluded={
        "mismatch-string-kernel": (
            "computes one pair at a time in Python, in about 2 ms, so the matrix here would "
            "take 15 minutes"
        ),
        "strkernel": (
            "last released in 2018; computes one pair at a time, and its normalised matrix "
            "does not match the definition"
        ),
    },
    repeat=5,
)  # fmt: skip
