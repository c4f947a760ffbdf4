"""
Which topics do the docstrings of scikit-learn have?
====================================================

Every estimator of scikit-learn has a docstring; together they are a small corpus that you always
have at hand. Which topics does it have, and how many topics are useful, for probabilistic latent
semantic analysis and for latent Dirichlet allocation, which is the same model with priors?
"""

# %%
# Count words that occur in at least four and at most half of the texts. Keep every fourth text for
# testing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import all_estimators

from skmoderndata.decomposition import ProbabilisticLSA

names, texts = zip(*((name, cls.__doc__) for name, cls in all_estimators()), strict=True)
counter = CountVectorizer(
    min_df=4, max_df=0.5, stop_words="english", token_pattern=r"\b[a-z]{3,}\b"
)
X = counter.fit_transform(texts).astype(float)
words = counter.get_feature_names_out()
test = np.arange(X.shape[0]) % 4 == 3
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.sum():.0f} tokens")


# %%
# Compute the perplexity: half of the words of each test document are folded in, and the
# other half is predicted, in the same way for both methods.


def perplexity(topics):
    """Document completion for given topics, one per row."""
    judge = ProbabilisticLSA(len(topics), random_state=0)
    judge.fit(np.eye(len(topics), X.shape[1]))
    judge.components_ = topics
    return judge.perplexity(X[test])


numbers = (1, 2, 4, 8, 16)
curves = {"maximum likelihood": [], "tempered": [], "smoothed": [], "Dirichlet allocation": []}
for k in numbers:
    for name, settings in (
        ("maximum likelihood", {}),
        ("tempered", {"tempering": True, "max_iter": 100}),
        ("smoothed", {"smoothing": 0.05}),
    ):
        model = ProbabilisticLSA(k, random_state=0, tol=1e-3, **settings).fit(X[~test])
        curves[name].append(perplexity(np.maximum(model.components_, 1e-7)))
    lda = LatentDirichletAllocation(k, random_state=0, max_iter=10).fit(X[~test])
    topics = lda.components_ / lda.components_.sum(axis=1, keepdims=True)
    curves["Dirichlet allocation"].append(perplexity(topics))

# %%
# Up to sixteen topics, more topics predict better. Pseudo-counts help most, because they give
# some probability to words that a topic happens not to have used. The right panel shows the most
# typical words of six topics found in all texts.

model = ProbabilisticLSA(6, smoothing=0.05, n_init=3, random_state=0, tol=1e-4).fit(X)
fig = plt.figure(figsize=(10, 5), layout="constrained")
left, right = fig.subfigures(1, 2, width_ratios=(2, 3))
ax = left.subplots()
for (name, values), marker in zip(curves.items(), "os^d", strict=True):
    ax.semilogy(numbers, values, marker + "-", label=name)
ax.set(xlabel="number of topics", ylabel="perplexity of the other half of new texts")
ax.legend(fontsize=8)
for ax, topic, weight in zip(
    right.subplots(2, 3).flat, model.components_, model.topic_weights_, strict=True
):
    # Rank words by how much more frequent they are in the topic than on average
    lift = topic * np.log(topic / (model.topic_weights_ @ model.components_))
    top = np.argsort(-lift)[:9][::-1]
    ax.barh(words[top], 100 * topic[top], color="C2")
    ax.tick_params(labelsize=7)
    ax.set_title(f"{100 * weight:.0f} % of all words", fontsize=9)
right.supxlabel("probability in the topic (%)", fontsize=9)
plt.show()

# %%
# Print the texts that are most clearly about each topic:

mixtures = model.transform(X)
for number, column in enumerate(mixtures.T):
    first = np.argsort(-column * np.ravel(X.sum(axis=1)))[:4]
    print(f"topic {number}: " + ", ".join(names[i] for i in first))
