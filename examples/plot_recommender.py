"""
How will a viewer rate the next film?
=====================================

A recommender sees the stars that other viewers gave to a film, and learns from the stars of one
new viewer, one film at a time. Stars have an order but need not be equally far apart. How many
films do you have to rate before a ranking is better than the mean of the other viewers?
"""

# %%
# The ratings are generated with a known truth: three tastes, 60 viewers whose stars are known, 20
# new viewers, and 300 films. A viewer's opinion of a film is the product of tastes plus noise, cut
# into five stars at individual thresholds: some viewers give five stars easily, others hardly
# ever.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

from skmoderndata.ranking import KernelPRank

rng = np.random.default_rng(0)
N_KNOWN, N_NEW, N_FILMS = 60, 20, 300
films = rng.normal(size=(N_FILMS, 3))
viewers = rng.normal(size=(N_KNOWN + N_NEW, 3))
opinions = films @ viewers.T + 0.7 * rng.normal(size=(N_FILMS, N_KNOWN + N_NEW))
opinions /= opinions.std(axis=0)

steps = rng.dirichlet([3] * 5, size=N_KNOWN + N_NEW).cumsum(axis=1)[:, :4]
stars = np.empty(opinions.shape, dtype=int)
for j, shares in enumerate(steps):
    stars[:, j] = 1 + np.digitize(opinions[:, j], np.quantile(opinions[:, j], shares))

# %%
# A film is described by the stars of the 60 other viewers, minus the middle of the scale. Each new
# viewer sees the films in a different order; after every ten films the last hundred are predicted.
# The perceptron ranking (its mean function) learns from the stream, ridge regression is refitted
# to all films seen and rounded, and the mean of the other viewers needs no rating.

X = (stars[:, :N_KNOWN] - 3.0) / np.sqrt(N_KNOWN)
seen = np.arange(10, 201, 10)
errors = {"mean of other viewers": [], "ridge regression, rounded": [], "KernelPRank": []}
for viewer in range(N_KNOWN, N_KNOWN + N_NEW):
    order = rng.permutation(N_FILMS)
    test = order[200:]
    own = stars[:, viewer]
    course = {name: [] for name in errors}
    model = KernelPRank("linear", average=True, classes=[1, 2, 3, 4, 5])
    for n in seen:
        rows = order[:n]
        model.partial_fit(X[rows[-10:]], own[rows[-10:]])
        ridge = RidgeCV(np.logspace(-2, 3, 11)).fit(X[rows], own[rows])
        guesses = {
            "mean of other viewers": stars[test, :N_KNOWN].mean(axis=1),
            "ridge regression, rounded": ridge.predict(X[test]),
            "KernelPRank": model.predict(X[test]),
        }
        for name, guess in guesses.items():
            rounded = np.clip(np.round(guess), 1, 5)
            course[name].append(np.abs(rounded - own[test]).mean())
    for name, values in course.items():
        errors[name].append(values)

for name, courses in errors.items():
    mean = np.mean(courses, axis=0)
    print(f"{name}: {mean[0]:.2f} stars off after 10 films, {mean[-1]:.2f} after 200")

# %%
# Ten films are enough to do better than the mean of the other viewers, which ignores taste. Up
# to fifty films, ridge regression, refitted each time, is better. After that, the perceptron
# is just as good, although it has seen each film only once and keeps only a weighted sum.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for name, courses in errors.items():
    mean = np.mean(courses, axis=0)
    spread = np.std(courses, axis=0) / np.sqrt(N_NEW)
    left.plot(seen, mean, label=name)
    left.fill_between(seen, mean - spread, mean + spread, alpha=0.2)
left.set(xlabel="films rated by the viewer", ylabel="stars off, on 100 other films")
left.set_ylim(bottom=0)
left.legend()

table = np.zeros((5, 5))
np.add.at(table, (own[test] - 1, model.predict(X[test]) - 1), 1)
right.imshow(table, cmap="Blues", origin="lower", extent=(0.5, 5.5, 0.5, 5.5))
for (i, j), count in np.ndenumerate(table):
    color = "white" if count > table.max() / 2 else "black"
    right.text(j + 1, i + 1, f"{count:.0f}", ha="center", va="center", color=color)
right.set(
    xlabel="stars predicted", ylabel="stars given", title="the last viewer, after 200 films"
)
plt.show()
