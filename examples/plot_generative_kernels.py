"""
Can I recognise a language by how it surprises a model?
=======================================================

A Markov model of all words describes which letters follow which. The Fisher score of a word is the
change of the model that would make the word more likely, and these changes are features: they
describe how the word is unusual. Can they identify the language?
"""

# %%
# The data are names of countries and languages in eight languages, from the Unicode consortium by
# way of Babel, which comes with Sphinx. We leave out names that occur in more than one of the
# languages, and remove accents, which would give the language away.

import unicodedata
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from babel import Locale
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC

from skmoderndata.kernels import HMMFisher, MarkovFisher, Normalized
from skmoderndata.preprocessing import KernelTransformer

LANGUAGES = ["cs", "et", "fi", "hu", "it", "lt", "pl", "pt"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def plain(name):
    bare = unicodedata.normalize("NFD", name.lower())
    return "".join(letter for letter in bare if letter in LETTERS)


vocabulary = {}
for code in LANGUAGES:
    names = {**Locale(code).languages, **Locale(code).territories}.values()
    vocabulary[code] = {plain(n) for n in names if n.isalpha() and len(plain(n)) >= 6}
seen = Counter(name for names in vocabulary.values() for name in names)
pairs = [(n, code) for code in LANGUAGES for n in sorted(vocabulary[code]) if seen[n] == 1]
words, y = [n for n, _ in pairs], np.array([code for _, code in pairs])
print(len(words), "words,", words[:3])

# %%
# We use two models. One is a chain of letters, estimated from the training words of each fold.
# The other is a hidden Markov model with two states, vowels and consonants, written by hand.
# It alternates between the states, and each state emits its letters as often as they occur.

counts = np.array(
    [sum(word.count(letter) for word in words) for letter in LETTERS], dtype=float
)
vowel = np.array([letter in "aeiouy" for letter in LETTERS])
emission = np.stack([counts * vowel, counts * ~vowel]) + 1.0
hidden = HMMFisher(
    startprob=[0.3, 0.7],
    transmat=[[0.2, 0.8], [0.7, 0.3]],
    emissionprob=emission / emission.sum(axis=1, keepdims=True),
    symbols=LETTERS,
    information="diagonal",
)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
models = {
    "counts of letters": make_pipeline(CountVectorizer(analyzer="char"), LinearSVC(C=0.1)),
    "vowels and consonants": make_pipeline(
        KernelTransformer(Normalized(hidden)), SVC(kernel="precomputed", C=1)
    ),
    "counts of pairs": make_pipeline(
        CountVectorizer(analyzer="char", ngram_range=(2, 2)), LinearSVC(C=0.1)
    ),
    "chain of letters": make_pipeline(
        KernelTransformer(Normalized(MarkovFisher(symbols=LETTERS, information="diagonal"))),
        SVC(kernel="precomputed", C=1),
    ),
}
scores = {name: cross_val_score(model, words, y, cv=folds) for name, model in models.items()}
for name, values in scores.items():
    print(f"{name:22} {values.mean():.3f} +- {values.std():.3f}")

# %%
# The mean Fisher vector of a language shows which letters each state emits more often than the
# joint model of all languages expects, for the vowel state and the consonant state.

kernel = hidden.from_data(words)
vectors = normalize(kernel.features(words))
start = 2 + 4  # scores of starts and of transitions come first
fig, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=[3, 2])
means = np.array([vectors[y == code].mean(axis=0)[start:] for code in LANGUAGES])
# select the score of each letter in its own state
own = np.where(vowel, means[:, :26], means[:, 26:])
order = np.argsort(~vowel, kind="stable")
limit = np.abs(own).max()
axes[0].imshow(own[:, order], cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
axes[0].set(xticks=range(26), yticks=range(8), yticklabels=LANGUAGES)
axes[0].set_xticklabels([LETTERS[i] for i in order])
axes[0].set_title("Mean Fisher vector: red is more often than expected")
axes[0].axvline(vowel.sum() - 0.5, color="k")
axes[1].barh(range(len(scores)), [s.mean() for s in scores.values()],
             xerr=[s.std() for s in scores.values()])  # fmt: skip
axes[1].axvline(np.mean(y == max(LANGUAGES, key=list(y).count)), color="k", linestyle=":")
axes[1].set(yticks=range(len(scores)), yticklabels=list(scores), xlabel="accuracy, 5 folds")
axes[1].set_title("Eight languages; dotted: the largest class")
plt.show()
