"""
Which French message translates which English one?
==================================================

The messages of a program and their translations are two views of the same thing, but share hardly
any words. Kernel canonical correlation analysis finds directions in one vocabulary that correlate
with directions in the other, without a dictionary. Can it find the translation of messages that it
has not seen?
"""

# %%
# The data are the catalogues of Sphinx in English and French, and in Russian, which uses another
# alphabet. We remove the parts that are the same in all languages, such as placeholders and names
# of directives, and messages of fewer than four words.

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import sphinx
from babel.messages.mofile import read_mo
from sklearn.feature_extraction.text import TfidfVectorizer

from skmoderndata.cross_decomposition import KernelCCA

LOCALE = Path(sphinx.__file__).parent / "locale"
SAME = re.compile(
    r"%\(?\w*\)?[a-z]|\{[^}]*\}|[`'\"«»„“][^`'\"«»„“]*[`'\"«»„“]|[:.\w]*_\w*|\S*[/:=<>]\S*"
)


def words_only(text):
    """Remove the parts that translators leave unchanged."""
    return " ".join(re.findall(r"[^\W\d_]{2,}", SAME.sub(" ", text).lower()))


def pairs(language):
    """English messages and their translations."""
    with open(LOCALE / language / "LC_MESSAGES" / "sphinx.mo", "rb") as file:
        catalogue = read_mo(file)
    found = {}
    for message in catalogue:
        if isinstance(message.id, str) and message.id:
            english = words_only(message.id)
            other = words_only(message.string)
            if min(len(english.split()), len(other.split())) >= 4:
                found[english] = other
    return np.array(list(found)), np.array(list(found.values()))


# %%
# Rows are messages; columns are character n-grams with tf-idf weights. A third of the pairs is
# hidden. For each hidden English message we search for its translation among all hidden messages,
# either by the cosine in the correlated directions or by the character n-grams that both languages
# share.


def ranks(similarity):
    """Rank of the correct answer to each query: 1 is the first."""
    right = np.diag(similarity)[:, None]
    return (similarity >= right).sum(axis=1)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def retrieve(language, seed):
    """Ranks by both methods, and one model with its hidden pairs."""
    views = pairs(language)
    order = np.random.default_rng(seed).permutation(len(views[0]))
    hidden, shown = np.split(order, [len(order) // 3])
    weights = [
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), min_df=2) for _ in views
    ]
    tables = [
        w.fit(v[shown]).transform(v).toarray() for w, v in zip(weights, views, strict=True)
    ]
    model = KernelCCA(n_components=80, kernel="linear", alpha=0.1)
    model.fit(tables[0][shown], tables[1][shown])
    english, other = model.transform(tables[0][hidden], tables[1][hidden])

    common = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit(np.concatenate(views))
    A, B = (common.transform(view[hidden]) for view in views)
    by_pieces = (A @ B.T).toarray()
    return ranks(unit(english) @ unit(other).T), ranks(by_pieces), views, hidden


results = {}
for language, name in {"fr": "French", "ru": "Russian"}.items():
    several = [retrieve(language, seed) for seed in range(3)]
    results[name] = [np.concatenate([run[way] for run in several]) for way in (0, 1)]
    n_hidden = len(several[0][3])
    print(f"{name}: {len(several[0][2][0])} messages, {n_hidden} of them hidden")
    for way, values in zip(("KernelCCA", "character n-grams"), results[name], strict=True):
        first = np.mean(values == 1)
        print(
            f"  {way}: translation first in {first:.0%}, among ten in {np.mean(values <= 10):.0%}"
        )

# %%
# The curves show how often the translation is among the first k answers. By chance, the first
# answer is correct with a probability of one over the number of hidden messages. Some words
# are similar in both languages, so shared character n-grams alone find some of the
# translations.

fig, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, (name, (ours, pieces)) in zip(axes, results.items(), strict=True):
    places = np.arange(1, 31)
    for label, values in {"KernelCCA": ours, "shared character n-grams": pieces}.items():
        ax.plot(places, [np.mean(values <= place) for place in places], label=label)
    ax.plot(places, places / n_hidden, "k:", label="chance")
    ax.set(title=f"English to {name}", xlabel="answers considered", ylim=(0, 1.02))
axes[0].set_ylabel("translations found")
axes[0].legend()
plt.show()
