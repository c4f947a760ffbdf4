"""
Which kernel on strings finds a common part despite errors?
===========================================================

Kernels on strings differ in what counts as a common part. The first data set has a known truth: a
motif is hidden in random strings unchanged, with a wrong symbol, or stretched by gaps. The second
one is real: peptides that kill bacteria, and peptides that span a membrane.
"""

# %%
# Draw sixty random nucleotides, and place the motif ``gattacca`` at a random position in half of
# the strings. In the second case one of its two middle symbols is wrong; in the third, three
# random symbols are inserted into it.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC

from skmoderndata.datasets import load_peptides
from skmoderndata.kernels import (
    FixedLengthSubsequences,
    GapWeighted,
    GramCache,
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


cases = ["unchanged", "a wrong symbol", "gaps"]
kernels = {
    "PSpectrum(5)": PSpectrum(5),
    "Mismatch(7, 1)": Mismatch(7, 1, "acgt"),
    "GapWeighted(5, 0.5)": GapWeighted(5, 0.5),
    "FixedLength(5)": FixedLengthSubsequences(5),
}
samples = [hidden_motif(case) for case in cases]
table = np.array(
    [[accuracy(Normalized(k), X, y) for X, y in samples] for k in kernels.values()]
)

# %%
# The peptides are antimicrobial peptides and transmembrane regions of proteins, strings of 8 to 56
# symbols over twenty amino acids. The search reaches the parameters of the kernel through the
# pipeline, and the cache computes each kernel value once for all folds. The baseline counts
# substrings of up to p symbols in a linear classifier.

X, y = load_peptides(return_X_y=True)
folds = StratifiedKFold(5, shuffle=True, random_state=0)


def search(kernel, grid):
    step = KernelTransformer(Normalized(kernel), cache=GramCache())
    model = make_pipeline(step, SVC(kernel="precomputed"))
    grid = {f"kerneltransformer__kernel__kernel__{name}": v for name, v in grid.items()}
    return GridSearchCV(model, {**grid, "svc__C": [1, 10]}, cv=folds).fit(X, y)


def best_for(found, name, value):
    """Best accuracy of a search among settings with the given value of a parameter."""
    values = found.cv_results_[f"param_kerneltransformer__kernel__kernel__{name}"]
    return found.cv_results_["mean_test_score"][np.array(values) == value].max()


lengths = [1, 2, 3, 4, 5]
amino_acids = "".join(sorted(set("".join(X))))
searches = {
    "substrings of p: PSpectrum": search(PSpectrum(), {"p": lengths}),
    "one may differ: Mismatch": search(Mismatch(alphabet=amino_acids), {"p": lengths[1:]}),
    "with gaps: GapWeighted": search(GapWeighted(), {"p": lengths, "decay": [0.5, 0.7, 0.9]}),
}
curves = {
    name: [best_for(found, "p", p) for p in lengths[1:]] for name, found in searches.items()
}
for name, found in searches.items():  # Mismatch needs p > 1
    first = np.nan if "Mismatch" in name else best_for(found, "p", 1)
    curves[name].insert(0, first)
baseline = []
for p in lengths:
    counts = CountVectorizer(analyzer="char", ngram_range=(1, p), lowercase=False)
    model = make_pipeline(counts, Normalizer(), LinearSVC())
    baseline.append(cross_val_score(model, X, y, cv=folds).mean())

# %%
# Left: every kernel that uses contiguous symbols finds a motif in one piece. Mismatches help with
# wrong symbols, and a price for gaps helps with gaps, whereas free gaps drown the motif in chance
# matches. Right: single amino acids are already a strong hint. Exact substrings soon become too
# rare in strings of twenty symbols; kernels that allow a change or a gap keep improving.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.imshow(table, cmap="viridis", vmin=0.5, vmax=1, aspect="auto")
for (i, j), value in np.ndenumerate(table):
    left.text(
        j, i, f"{value:.2f}", ha="center", va="center", color="w" if value < 0.85 else "k"
    )
left.set(
    xticks=range(3), xticklabels=cases, yticks=range(len(kernels)), yticklabels=list(kernels),
    title="Motif hidden in noise: accuracy",
)  # fmt: skip
for (name, values), marker in zip(curves.items(), "o^s", strict=True):
    right.plot(lengths, values, marker=marker, label=name)
right.plot(lengths, baseline, "k--", label="1 to p: CountVectorizer, LinearSVC")
right.set(xticks=lengths, xlabel="p", title="Peptides: accuracy in five folds")
right.legend(fontsize="small")
plt.show()
for name, values in zip(kernels, table, strict=True):
    print(f"{name:36s}", values.round(3))
for name, values in {**curves, "baseline": baseline}.items():
    print(f"{name:36s}", np.round(values, 3))
for name, found in searches.items():
    print(f"{name:36s}", f"{found.best_score_:.3f}", found.best_params_)
