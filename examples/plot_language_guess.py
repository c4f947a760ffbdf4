"""
Which language does a name come from?
=====================================

The data are 1600 names of languages and territories in sixteen languages, in lower case: for
example, Swahili has different names in Estonian and Lithuanian. How well do substrings identify
the language, which substrings matter, and what do kernel machines add?
"""

# %%
# The names are short, about ten letters, and each occurs in only one of the languages.
# ``SequenceFeatures`` makes sparse rows of substring counts, and a linear classifier on these rows
# is the kernel machine at linear cost. Kernels that allow a mismatch or a gap, or that normalise
# each substring length separately, need the kernel matrix.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC

from skmoderndata.datasets import load_language_names
from skmoderndata.feature_extraction import SequenceFeatures
from skmoderndata.kernels import BlendedSpectrum, GapWeighted, Mismatch, Normalized, PSpectrum
from skmoderndata.preprocessing import KernelTransformer

names = load_language_names()
X, y, languages = names.data, names.target, names.target_names
letters = "".join(sorted(set("".join(X))))
folds = StratifiedKFold(5, shuffle=True, random_state=0)


def machine(kernel):
    return make_pipeline(KernelTransformer(kernel), SVC(kernel="precomputed", C=10))


each_length = sum(
    (Normalized(PSpectrum(q)) for q in (2, 3, 4)), start=Normalized(PSpectrum(1))
)
models = {
    "SequenceFeatures(BlendedSpectrum(3)), LinearSVC": make_pipeline(
        SequenceFeatures(BlendedSpectrum(3)), LinearSVC()
    ),
    "CountVectorizer 1 to 3, LinearSVC": make_pipeline(
        CountVectorizer(analyzer="char", ngram_range=(1, 3)), Normalizer(), LinearSVC()
    ),
    "PSpectrum 1 to 4, each normalised, SVC": machine(each_length),
    "BlendedSpectrum(3), SVC": machine(Normalized(BlendedSpectrum(3))),
    "GapWeighted(3), SVC": machine(Normalized(GapWeighted(3))),
    "Mismatch(3), SVC": machine(Normalized(Mismatch(3, alphabet=letters))),
    "PSpectrum(1), SVC": machine(Normalized(PSpectrum(1))),
}
accuracy = {
    name: cross_val_score(model, X, y, cv=folds).mean() for name, model in models.items()
}
for name, value in accuracy.items():
    print(f"{name:50} {value:.3f}")

# %%
# You can read the weights of the linear classifier: print the substrings that favour each
# language most.

linear = models["SequenceFeatures(BlendedSpectrum(3)), LinearSVC"].fit(X, y)
substrings = linear[0].get_feature_names_out()
for language, weights in zip(languages, linear[-1].coef_, strict=True):
    print(language, " ".join(substrings[np.argsort(-weights)[:8]]))

# %%
# With sixteen classes, the chance level is .06. Most confusions are between related languages:
# Estonian and Finnish; Italian, Spanish and Portuguese; Dutch and German. The linear classifier,
# which separates each language from all others, does better here than kernel machines that compare
# languages in pairs; scikit-learn's counts are the same features.

guess = cross_val_predict(linear, X, y, cv=folds)
counts = confusion_matrix(y, guess)
fig, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.8), layout="constrained")
left.barh(range(len(accuracy)), list(accuracy.values()), color="#3b6ea8")
left.set_yticks(range(len(accuracy)), list(accuracy), fontsize=8)
left.invert_yaxis()
left.set(xlabel="accuracy, five folds", xlim=(0, 0.8), title="16 languages")
for i, value in enumerate(accuracy.values()):
    left.text(value + 0.01, i, f"{value:.2f}", va="center", fontsize=8)
right.imshow(counts, cmap="Blues", vmax=counts.max())
right.set_xticks(range(16), languages, fontsize=8)
right.set_yticks(range(16), languages, fontsize=8)
for (i, j), value in np.ndenumerate(counts):
    if value and i != j:
        right.text(j, i, value, ha="center", va="center", fontsize=6)
right.set(xlabel="guess", ylabel="language", title="Confusions of the linear classifier")
plt.show()
