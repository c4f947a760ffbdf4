"""
Does the association threshold of a discrete basis matter?
==========================================================

The candidates of the greedy search are sets of features that occur together in at least the
fraction ``association_threshold`` of the cases. The right value depends on the noise level, which
is unknown. Does refitting the memberships and components make up for a wrong threshold?
"""

# %%
# The data have eight overlapping sources, up to three of them at a time, with more and more noisy
# bits. We refit each threshold separately: given ten thresholds at once, the estimator drops those
# that fall behind.

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.cluster import DiscreteBasis
from skmoderndata.datasets import make_boolean_sources
from skmoderndata.metrics import source_mismatch

thresholds = np.arange(1, 11) / 10
levels = (0.1, 0.3, 0.5)
greedy, refitted, bound, models = {}, {}, {}, {}
for noise in levels:
    X, clean, sources, _ = make_boolean_sources(
        600, 96, 8, max_assignments=3, noise=noise, random_state=1
    )
    models[noise] = [DiscreteBasis(8, refit=refit).fit(X) for refit in (False, True)]
    greedy[noise] = models[noise][0].costs_
    refitted[noise] = [
        DiscreteBasis(8, association_threshold=threshold).fit(X).costs_[0]
        for threshold in thresholds
    ]
    bound[noise] = (X != clean).mean()
    mismatch = [source_mismatch(sources, model.components_) for model in models[noise]]
    print(
        f"noise {noise:.0%}: best threshold {models[noise][0].association_threshold_:.1f}, wrong "
        f"source bits {mismatch[0]:.1%} greedy, {mismatch[1]:.1%} refitted"
    )

# %%
# The dotted lines show the costs of the true sources. The greedy search needs the right
# threshold. After refitting, a wide range of thresholds leads to the true sources: 0.3 to 0.9
# at 10 % noise, and 0.4 to 1 at 30 %. At 50 % noise, no threshold succeeds without refitting,
# and only one of the ten succeeds with refitting. Its cost is below the dotted line because
# other sources explain some rows better than their own sources do. The right panel shows the
# sources found at the highest noise.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
for noise, color in zip(levels, ("C0", "C1", "C2"), strict=True):
    left.plot(thresholds, greedy[noise], "o--", color=color, alpha=0.5)
    left.plot(thresholds, refitted[noise], "s-", color=color, label=f"{noise:.0%} noise")
    left.axhline(bound[noise], color=color, ls=":")
left.plot([], [], "o--", color="0.5", label="greedy only")
left.plot([], [], "s-", color="0.5", label="with refitting")
left.set(
    xlabel="association threshold",
    ylabel="fraction of wrong bits",
    title="cost for each threshold",
)
left.set_ylim(0, 0.62)
left.legend(ncols=2, loc="upper center")
gap = np.zeros((1, 96), dtype=bool)
pictures = [sources, models[0.5][0].components_, models[0.5][1].components_]
pictures = [picture[np.argsort(picture.argmax(axis=1), kind="stable")] for picture in pictures]
right.imshow(
    np.vstack([pictures[0], gap, pictures[1], gap, pictures[2]]), aspect="auto", cmap="Greys"
)
right.set_yticks([3.5, 12.5, 21.5], ["truth", "greedy", "re-fit"])
right.tick_params(length=0)
right.set(xlabel="feature", title="sources at 50 % noise")
plt.show()
