"""
Ten minutes: what can skmoderndata do?
======================================

Here are three everyday data sets: sensors with gaps and broken readings, a list of who may do
what, and the strings of a log. For each of them you see the scikit-learn solution, the solution of
this package, a picture, and a number that compares the two. The data are generated, so the right
answer is known. Use the buttons below to get this page as a notebook.
"""

# %%
# Sensors with gaps and broken readings
# -------------------------------------
# Sixteen thermometers measure the temperature in a building, every hour for six weeks. They follow
# the weather, the heating and the sun. Their readings are noisy: one in twenty is missing, and one
# in fifty is nonsense.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
hours = pd.date_range("2026-01-05", periods=6 * 7 * 24, freq="h")
day = 2 * np.pi * np.arange(len(hours)) / 24
weather = np.cumsum(rng.normal(size=len(hours))) / 6
heating = (hours.hour > 5) & (hours.hour < 22) & (hours.day_of_week < 5)
causes = np.column_stack([weather, heating, np.maximum(0, np.sin(day - 1.8))])
rooms = [f"room {number}" for number in range(101, 117)]
clean = 18 + causes @ rng.uniform(0, 3, size=(3, len(rooms)))

readings = clean + 0.3 * rng.normal(size=clean.shape)
broken = rng.uniform(size=clean.shape) < 0.02
readings[broken] += rng.choice([-1, 1], broken.sum()) * rng.uniform(3, 30, broken.sum())
readings[rng.uniform(size=clean.shape) < 0.05] = np.nan
table = pd.DataFrame(readings, index=hours, columns=rooms)
table.iloc[:3, :6].round(1)

# %%
# With scikit-learn, you can fill the gaps and keep three components, but the broken readings
# distort these components:

from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

pca = make_pipeline(SimpleImputer(), PCA(n_components=3)).fit(table)
by_pca = pca[-1].inverse_transform(pca.transform(table))

# %%
# `RobustPCA` chooses the number of components, repairs the table, and lists the broken cells by
# name:

from skmoderndata.decomposition import RobustPCA, RobustPCADisplay

model = RobustPCA().fit(table)
model.find_outliers(table).head()

# %%
RobustPCADisplay.from_estimator(model, table)
plt.show()

# %%
# Print the root mean square error in degrees, and the number of broken cells found:


def degrees(repaired):
    return np.sqrt(np.mean((repaired - clean) ** 2))


found = model.support_
print(f"PCA       {degrees(by_pca):.2f} degrees")
print(
    f"RobustPCA {degrees(model.low_rank_):.2f} degrees; it chose {model.n_components_} components"
)
print(
    f"{(found & broken).sum()} of {(broken & ~np.isnan(readings)).sum()} broken cells found, "
    f"{(found & ~broken).sum()} false alarms"
)

# %%
# Who may do what
# ---------------
# Access rights come as a long list of pairs. Five overlapping roles lie behind it, and everybody
# has one or two of them. One entry in ten of the table is an exception: an extra right or a
# forgotten one.

from skmoderndata.datasets import make_boolean_sources

people = [f"user {number}" for number in range(400)]
rights = [f"right {letter}{number}" for letter in "ABCDE" for number in range(10)]
granted, policy, roles, _ = make_boolean_sources(
    400, 50, 5, max_assignments=2, overlap=0.2, noise=0.2, random_state=1
)
rows, columns = np.nonzero(granted)
long = pd.DataFrame({"user": np.take(people, rows), "right": np.take(rights, columns)})
long.head(3)

# %%
# Write the list as a table. With scikit-learn, you can compute non-negative factors and threshold
# them at one half; `MultiAssignmentClustering` finds the roles directly:

from sklearn.decomposition import NMF

from skmoderndata.cluster import MultiAssignmentClustering, RolesDisplay
from skmoderndata.metrics import source_mismatch

access = pd.crosstab(long["user"], long["right"]).reindex(people, columns=rights)
nmf = NMF(5, init="nndsvda", max_iter=1000).fit(access.clip(0, 1))
parts = nmf.components_ / nmf.components_.max(axis=1, keepdims=True) > 0.5
model = MultiAssignmentClustering(5, max_assignments=2, random_state=0).fit(
    access.astype(bool)
)

# %%
RolesDisplay.from_estimator(model, access.astype(bool))
plt.show()

# %%
# Print the fraction of wrong entries in the roles:

print(f"NMF thresholded at half   {source_mismatch(roles, parts):.3f}")
print(f"MultiAssignmentClustering {source_mismatch(roles, model.components_):.3f}")

# %%
# Strings of a log
# ----------------
# These are sessions on the site of a bank, with one letter for each event. In a fraud, a new
# address (a), a new password (p) and a payment (y) follow each other in this order, with other
# events in between. All three events also happen in other sessions, but in another order.


def session(fraud):
    events = list(rng.choice(list("lvvvsshhmqo"), rng.integers(15, 40)))
    places = np.sort(rng.choice(np.arange(2, 14), 3, replace=False))
    order = "apy" if fraud else rng.choice(["ayp", "pay", "pya", "yap", "ypa"])
    for place, event in zip(places, order, strict=True):
        events[place] = event
    return "".join(events)


labels = rng.uniform(size=400) < 0.5
log = [session(fraud) for fraud in labels]
log[:3]

# %%
# The scikit-learn pipeline counts substrings. The kernel of this package counts subsequences, and
# gaps cost little. Both choose their settings by cross-validation:

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC, LinearSVC

from skmoderndata.kernels import GapWeighted, Normalized
from skmoderndata.preprocessing import KernelTransformer

counts = GridSearchCV(
    make_pipeline(TfidfVectorizer(analyzer="char"), LinearSVC()),
    {"tfidfvectorizer__ngram_range": [(1, 1), (1, 3), (1, 5)], "linearsvc__C": [0.1, 1, 10]},
    cv=3,
)
gaps = GridSearchCV(
    make_pipeline(KernelTransformer(Normalized(GapWeighted(p=2))), SVC(kernel="precomputed")),
    {"kerneltransformer__kernel__kernel__decay": [0.8, 0.95], "svc__C": [1, 10, 100]},
    cv=3,
)

# %%
known, new, known_labels, new_labels = train_test_split(log, labels, random_state=0)
searches = {"substrings": counts, "subsequences": gaps}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for ax, (name, search) in zip(axes, searches.items(), strict=True):
    scores = search.fit(known, known_labels).decision_function(new)
    bins = np.linspace(scores.min(), scores.max(), 30)
    ax.hist(scores[new_labels], bins, alpha=0.6, label="fraud")
    ax.hist(scores[~new_labels], bins, alpha=0.6, label="other sessions")
    right = np.mean((scores > 0) == new_labels)
    ax.set(title=f"{name}: {right:.0%} correct", xlabel="score of new sessions")
    print(f"{name:12s} {right:.0%} of {len(new)} new sessions are classified correctly")
axes[0].legend()
plt.show()

# %%
# Where to go next: ``skmoderndata.suggest(table)`` looks at your own data and names three methods,
# and the chooser lists the methods by task.
