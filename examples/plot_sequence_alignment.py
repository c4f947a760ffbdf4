"""
Which passages of two texts match?
==================================

An alignment finds the passage that two sequences have in common, although each has symbols that
are missing in the other. The left panel shows the scores of all pairs of amino acids of two
peptides, and the alignment through them. The right panel shows how well local scores, used as a
kernel, separate two kinds of peptides, compared with a kernel of common substrings.
"""

# %%
# Choose two different peptides with one of the best local alignments.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skmoderndata.datasets import load_blosum62, load_peptides
from skmoderndata.kernels import Normalized, PSpectrum
from skmoderndata.metrics import alignment, pairwise_alignment
from skmoderndata.preprocessing import KernelTransformer, SpectrumCorrector

X, y = load_peptides(return_X_y=True)
blosum = load_blosum62()
settings = {
    "mode": "local",
    "substitution_scores": blosum,
    "gap_cost": 10,
    "extension_cost": 1,
}

S = pairwise_alignment(X, **settings, normalize=True)
gaps = np.abs(
    np.subtract.outer(*[[len(x) for x in X]] * 2)
)  # lengths differ, so a gap is likely
i, j = np.unravel_index(np.where((gaps > 2) & (S < 0.6), S, -1).argmax(), S.shape)
path, score = alignment(X[i], X[j], **settings)
for k, sequence in enumerate((X[i], X[j])):
    print("".join("-" if p < 0 else sequence[p] for p in path[:, k]))
print("score", score)

# %%
# Use local scores as a kernel, and counts of common substrings of two symbols.
models = {
    "substrings of 2": make_pipeline(
        KernelTransformer(Normalized(PSpectrum(2))), SVC(kernel="precomputed", C=10)
    )
}
for algorithm in ("clip", "square"):
    models[f"local scores,\n{algorithm}"] = make_pipeline(
        KernelTransformer(pairwise_alignment, kernel_params={**settings, "normalize": True}),
        SpectrumCorrector(algorithm),
        SVC(kernel="precomputed", C=10),
    )
accuracy = {name: cross_val_score(model, X, y, cv=10) for name, model in models.items()}

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
scores = np.array([[blosum[a, b] for b in X[j]] for a in X[i]])
image = left.imshow(scores, cmap="PuOr", vmin=-8, vmax=8)
together = path[(path >= 0).all(axis=1)]
left.plot(together[:, 1], together[:, 0], "k.-", label="local alignment")
left.set(
    xticks=range(len(X[j])),
    xticklabels=X[j],
    yticks=range(len(X[i])),
    yticklabels=X[i],
    title=f"Scores of amino acids, alignment of score {score:g}",
)
left.tick_params(labelsize=7)
left.legend(loc="lower left")
fig.colorbar(image, ax=left, label="score")

right.boxplot(list(accuracy.values()), tick_labels=list(accuracy))
right.set(ylabel="accuracy, ten folds", title="Antimicrobial or transmembrane?")
plt.show()
