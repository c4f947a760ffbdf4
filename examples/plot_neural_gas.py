"""
Which few colours represent a photograph best?
==============================================

We repaint a photograph with few colours. Neural gas places the colours of the palette, and so does
k-means, from one start and from ten. The graph of neural gas connects two colours if they are the
nearest two for some pixels, so the palette has neighbours.
"""

# %%
# Sample the colours of some pixels for training; all pixels are repainted.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image
from sklearn.decomposition import PCA

from skmoderndata.cluster import NeuralGas

photo = load_sample_image("flower.jpg")[::2, ::2] / 255
pixels = photo.reshape(-1, 3)
train = pixels[np.random.default_rng(0).choice(len(pixels), 5000, replace=False)]
k = 32

# %%
# Compute the error of ten runs of each method on the training pixels. The spread shows how much
# depends on the start.

runs = {
    "k-means,\none start": [KMeans(k, n_init=1, random_state=s) for s in range(10)],
    "k-means,\nten starts": [KMeans(k, n_init=10, random_state=s) for s in range(10)],
    "neural gas,\nas published": [
        NeuralGas(k, polish=False, random_state=s) for s in range(10)
    ],
    "neural gas": [NeuralGas(k, random_state=s) for s in range(10)],
}
errors = {
    name: [1000 * model.fit(train).inertia_ / len(train) for model in models]
    for name, models in runs.items()
}
for name, values in errors.items():
    print(f"{' '.join(name.split())}: {np.mean(values):.3f} +- {np.std(values):.3f}")

# %%
# Plot the palette and its graph, in the plane of the two leading colour directions.

model = runs["neural gas"][0]
palette = model.cluster_centers_
plane = PCA(2).fit(train)
flat = plane.transform(palette)

fig, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
for ax, picture, title in (
    (axes[0, 0], photo, "photograph"),
    (axes[0, 1], palette[model.predict(pixels)].reshape(photo.shape), f"{k} colours"),
):
    ax.imshow(np.clip(picture, 0, 1))
    ax.set_title(title)
    ax.set_axis_off()
graph = model.adjacency_.tocoo()
for i, j, weight in zip(*graph.coords, graph.data, strict=True):
    if i < j and weight >= 5:  # at least 5 of 5000 pixels
        axes[1, 0].plot(*flat[[i, j]].T, color="0.7", lw=0.5 + 0.01 * weight, zorder=1)
axes[1, 0].scatter(*flat.T, c=np.clip(palette, 0, 1), s=120, edgecolors="k", zorder=2)
axes[1, 0].set(title="Colours that are neighbours", xlabel="direction 1", ylabel="direction 2")
axes[1, 1].boxplot(list(errors.values()), orientation="horizontal", tick_labels=list(errors))
axes[1, 1].set(title="Ten runs of each", xlabel="mean squared error, thousandths")
axes[1, 1].invert_yaxis()
plt.show()
