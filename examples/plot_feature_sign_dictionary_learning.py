"""
How fast can I learn a sparse dictionary?
=========================================

scikit-learn's ``DictionaryLearning`` and ``FeatureSignDictionaryLearning`` minimise the same
objective: the squared error of patches of a photograph plus an l1 penalty on their codes. Both
start from the same patches. The curves show the objective after each pass and over time.
"""

# %%
# Extract patches of 8 x 8 pixels and subtract their means.

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.decomposition import DictionaryLearning
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.image import extract_patches_2d

from skmoderndata.decomposition import AtomsDisplay, FeatureSignDictionaryLearning

grey = load_sample_image("flower.jpg").mean(axis=2) / 255
patches = extract_patches_2d(grey, (8, 8), max_patches=40000, random_state=0).reshape(-1, 64)
patches = patches - patches.mean(axis=1, keepdims=True)
patches = patches[
    np.argsort(-patches.std(axis=1), kind="stable")[:4000]
]  # the patches with the highest contrast
k, alpha = 100, 0.2
start = patches[np.random.default_rng(0).choice(len(patches), k, replace=False)]
start = start / np.linalg.norm(start, axis=1, keepdims=True)

# %%
# Run a short fit first, because the first call compiles the loops.

given = {"n_components": k, "alpha": alpha}
FeatureSignDictionaryLearning(**given, init=start, max_iter=2, tol=0).fit(patches[:200])
curves = {}
for name, momentum in (("without momentum", False), ("with momentum", True)):
    begin = time.perf_counter()
    model = FeatureSignDictionaryLearning(**given, init=start, max_iter=60, tol=0)
    model.set_params(momentum=momentum).fit(patches)
    curves[name] = (model.objective_history_, time.perf_counter() - begin)

begin = time.perf_counter()
theirs = DictionaryLearning(
    **given, dict_init=start, code_init=np.zeros((len(patches), k)), fit_algorithm="cd",
    max_iter=12, tol=0,
)  # fmt: skip
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    theirs.fit(patches)
curves["scikit-learn"] = (np.array(theirs.error_), time.perf_counter() - begin)
for name, (values, seconds) in curves.items():
    print(f"{name}: objective {values[-1]:.1f} after {len(values)} passes, {seconds:.1f} s")

# %%
# Print the certificates: upper bounds on how far the worst code and the last update of the
# atoms are from their optima.

print(f"codes: {model.dual_gap_.max():.1e}, atoms: {model.dictionary_gap_:.1e}, relative")

# %%
# Plot the atoms, most used first, and the objective by passes and by time.

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
AtomsDisplay.from_estimator(model, image_shape=(8, 8), ax=left, cmap="gray")
left.set_title("100 atoms of a photograph of flowers")
best = min(values[-1] for values, _ in curves.values())
for color, (name, (values, seconds)) in zip(("C0", "C3", "C2"), curves.items(), strict=True):
    excess = 100 * (values / best - 1)
    passes = np.arange(1, len(values) + 1)
    middle.plot(passes, excess, ".-", color=color, label=name)
    right.plot(seconds * passes / len(values), excess, ".-", color=color, label=name)
middle.set(xlabel="pass", ylabel="objective above the lowest, in per cent", ylim=(0, 8))
right.set(xlabel="seconds, one thread each", ylim=(0, 8))
middle.legend()
plt.show()
