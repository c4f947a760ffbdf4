"""
Which letters give a language away?
===================================

A linear model on the substrings of words is a kernel machine that you can read: each coefficient
belongs to a substring. Which substrings indicate a language?
"""

# %%
# The data are names of countries and languages in eight languages, from the Unicode consortium
# by way of Babel, which comes with Sphinx. We leave out names that occur in more than one of
# the languages.

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from babel import Locale
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from skmoderndata.feature_extraction import SequenceFeatures
from skmoderndata.kernels import BlendedSpectrum

LANGUAGES = ["cs", "et", "fi", "hu", "it", "lt", "pl", "pt"]
vocabulary = {}
for code in LANGUAGES:
    names = {**Locale(code).languages, **Locale(code).territories}.values()
    vocabulary[code] = {n.lower() for n in names if n.isalpha() and len(n) >= 6}
seen = Counter(name for names in vocabulary.values() for name in names)
pairs = [(n, code) for code in LANGUAGES for n in sorted(vocabulary[code]) if seen[n] == 1]
words, y = [n for n, _ in pairs], np.array([code for _, code in pairs])
# mark the ends, so that substrings show beginnings and ends of words
words = [f"^{word}$" for word in words]
print(len(words), "words,", words[:3])

# %%
# Use all substrings of up to four letters, and the same substrings hashed into few columns.

folds = StratifiedKFold(5, shuffle=True, random_state=0)


def accuracy(n_features):
    model = make_pipeline(SequenceFeatures(BlendedSpectrum(4), n_features), LinearSVC())
    return cross_val_score(model, words, y, cv=folds).mean()


sizes = 2 ** np.arange(5, 17, 2)
hashed = [accuracy(int(size)) for size in sizes]
learnt = accuracy(None)

# %%
# Endings and single accented letters decide, as you would expect if you know the languages.
# Hashing costs nothing as long as there are more columns than relevant substrings.

features = SequenceFeatures(BlendedSpectrum(4)).fit(words)
model = LinearSVC().fit(features.transform(words), y)
names = features.get_feature_names_out()
fig, axes = plt.subplots(
    1, 5, figsize=(12, 4), layout="constrained", width_ratios=[1] * 4 + [2]
)
for code, ax in zip(["fi", "hu", "it", "pl"], axes[:4], strict=True):
    weights = model.coef_[list(model.classes_).index(code)]
    top = np.argsort(weights)[-10:]
    ax.barh(range(10), weights[top])
    ax.set(yticks=range(10), yticklabels=names[top], title=code)
axes[4].semilogx(sizes, hashed, "o-", base=2, label="hashed")
axes[4].axhline(learnt, color="k", linestyle="--", label=f"{len(names)} learned columns")
axes[4].set(xlabel="columns", ylabel="accuracy, 5 folds", ylim=(0, 1), title="Eight languages")
axes[4].legend()
plt.show()
print("learned", round(learnt, 3), "hashed", np.round(hashed, 3))
