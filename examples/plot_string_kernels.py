"""
Which parts of a string tell? Kernels on strings and what they forgive
======================================================================

Kernels on strings differ in what counts as a common part. First a case whose truth is known: a
motif is hidden in random strings as it is, with a wrong symbol, or stretched by gaps. Then a real
one: which language is a word of?
"""

# %%
# Sixty random nucleotides, and in half of the strings the motif ``gattacca`` at a random place.
# In the second case one of its two middle symbols is wrong; in the third, three random symbols are
# inserted into it.

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from babel import Locale
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC

from skmoderndata.kernels import (
    BlendedSpectrum,
    FixedLengthSubsequences,
    GapWeighted,
    Mismatch,
    Normalized,
    PSpectrum,
)
from skmoderndata.preprocessing import KernelTransformer

MOTIF = "gattacca"


def hidden_motif(change, n=240, seed=0):
    rng = np.random.default_rng(seed)
    X, y = [], np.arange(n) % 2
    for label in y:
        s = rng.choice(list("acgt"), size=60).tolist()
        motif = list(MOTIF)
        if change == "a wrong symbol":
            i = rng.integers(3, 5)
            motif[i] = rng.choice([c for c in "acgt" if c != motif[i]])
        elif change == "gaps":
            for _ in range(3):
                motif.insert(rng.integers(1, len(motif)), rng.choice(list("acgt")))
        start = rng.integers(60 - len(motif))
        if label:
            s[start : start + len(motif)] = motif
        X.append("".join(s))
    return X, y


def accuracy(kernel, X, y, C=10):
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = make_pipeline(KernelTransformer(kernel), SVC(kernel="precomputed", C=C))
    return cross_val_score(model, X, y, cv=folds).mean()


cases = ["as it is", "a wrong symbol", "gaps"]
kernels = {
    "PSpectrum(5)": PSpectrum(5),
    "Mismatch(7, 1)": Mismatch(7, 1, "acgt"),
    "GapWeighted(5, 0.5)": GapWeighted(5, 0.5),
    "FixedLength(5)": FixedLengthSubsequences(5),
}
samples = [hidden_motif(case) for case in cases]
table = np.array([[accuracy(Normalized(k), X, y) for X, y in samples] for k in kernels.values()])

# %%
# Names of countries and languages in eight languages, those of the Unicode consortium in Babel,
# which Sphinx brings along: sixty for each language that occur in no other one. Words of eight
# letters are short, and the baseline is strong: counts of characters in a linear classifier.

LANGUAGES = ["cs", "et", "fi", "hu", "it", "lt", "pl", "pt"]
vocabulary = {}
for code in LANGUAGES:
    names = {**Locale(code).languages, **Locale(code).territories}.values()
    vocabulary[code] = sorted({n.lower() for n in names if n.isalpha() and len(n) >= 6})
seen = Counter(name for names in vocabulary.values() for name in names)
rng = np.random.default_rng(0)
words, language = [], np.repeat(LANGUAGES, 60)
for names in vocabulary.values():
    unique = [name for name in names if seen[name] == 1]
    words += [str(word) for word in rng.choice(unique, size=60, replace=False)]
letters = "".join(sorted(set("".join(words))))

lengths = [1, 2, 3, 4]
curves = {
    "exactly p symbols": [accuracy(Normalized(PSpectrum(p)), words, language) for p in lengths],
    "one may differ": [
        accuracy(Normalized(Mismatch(p, min(1, p - 1), letters)), words, language) for p in lengths
    ],
    "1 to p symbols": [
        accuracy(Normalized(BlendedSpectrum(p)), words, language) for p in lengths
    ],
    "1 to p, each normalised": [
        accuracy(sum(Normalized(PSpectrum(q)) for q in range(2, p + 1)) + Normalized(PSpectrum(1)),
                 words, language)
        if p > 1
        else accuracy(Normalized(PSpectrum(1)), words, language)
        for p in lengths
    ],
}  # fmt: skip
folds = StratifiedKFold(5, shuffle=True, random_state=0)
baseline = []
for p in lengths:
    counts = CountVectorizer(analyzer="char", ngram_range=(1, p), lowercase=False)
    model = make_pipeline(counts, Normalizer(), LinearSVC(max_iter=10_000))
    baseline.append(cross_val_score(model, words, language, cv=folds).mean())

# %%
# On the left, a motif in one piece is found by all that look at neighbours. Mismatches help with
# wrong symbols and a price for gaps helps with gaps, while gaps that cost nothing drown the motif
# in chance. On the right, single letters are a strong hint already, as accents are. Parts of
# exactly p letters are soon too rare in words of eight, so that the short ones have to stay. The
# counts of scikit-learn are such parts as well, and in a linear classifier they do a little better
# here.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.imshow(table, cmap="viridis", vmin=0.5, vmax=1, aspect="auto")
for (i, j), value in np.ndenumerate(table):
    left.text(j, i, f"{value:.2f}", ha="center", va="center", color="w" if value < 0.85 else "k")
left.set(
    xticks=range(3), xticklabels=cases, yticks=range(len(kernels)), yticklabels=list(kernels),
    title="Motif hidden in noise: accuracy",
)  # fmt: skip
for (name, values), marker in zip(curves.items(), "o^sD", strict=True):
    right.plot(lengths, values, marker=marker, label=name)
right.plot(lengths, baseline, "k--", label="CountVectorizer, LinearSVC")
right.set(xticks=lengths, xlabel="p", title="Language of a word: accuracy, 8 classes")
right.legend(fontsize="small")
plt.show()
for name, values in zip(kernels, table, strict=True):
    print(f"{name:24s}", values.round(3))
for name, values in {**curves, "baseline": baseline}.items():
    print(f"{name:24s}", np.round(values, 3))
