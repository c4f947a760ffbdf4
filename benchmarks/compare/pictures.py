"""Pictures shared by several problems."""

import matplotlib as mpl
import numpy as np


def image_rows(fig, rows, *, cmap="gray_r", limits=(None, None)):
    """Draw one row of small images per entry of `rows`, a mapping of label to images.

    NaN pixels get a separate colour.
    """
    cmap = mpl.colormaps[cmap].with_extremes(bad="#e8a13a")
    n_columns = max(len(images) for images in rows.values())
    axes = fig.subplots(len(rows), 1, squeeze=False)[:, 0]
    for ax, (label, images) in zip(axes, rows.items(), strict=True):
        for left, image in enumerate(images):
            height = image.shape[0] / image.shape[1]
            extent = (1.1 * left, 1.1 * left + 1, 0, height)
            shown = np.ma.masked_invalid(image)
            ax.imshow(shown, cmap=cmap, vmin=limits[0], vmax=limits[1], extent=extent)
        ax.set_xlim(0, 1.1 * n_columns - 0.1)
        ax.set_yticks([height / 2], [label])
        ax.set_xticks([])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)


def one_of_each(y, rows):
    """Return the first of `rows` in each class, in the order of the classes."""
    return np.array(
        [rows[np.flatnonzero(y[rows] == label)[0]] for label in np.unique(y[rows])]
    )


def components_or_scatter(fig, methods, X, y, shape):
    """Draw the components as images, and the first two features by class below or next to them."""
    top, bottom = fig.subfigures(2, 1, height_ratios=(1.0, 1.3))
    components = {
        name: pipeline.named_steps["method"].components_[:10].reshape(-1, *shape)
        for name, pipeline in methods.items()
        if np.shape(getattr(pipeline.named_steps["method"], "components_", ()))[1:]
        == (np.prod(shape),)
    }
    if components:
        image_rows(top, components, cmap="RdBu_r")
    axes = bottom.subplots(1, len(methods), squeeze=False)[0]
    for ax, (name, pipeline) in zip(axes, methods.items(), strict=True):
        features = pipeline[:-1].transform(X)
        first = features[:, 0]
        second = features[:, 1] if features.shape[1] > 1 else y
        ax.scatter(first, second, c=y, cmap="tab10", s=9, linewidths=0)
        ax.set(title=f"{name}, first features of unseen rows, by class", xticks=[], yticks=[])


def decision_histograms(fig, methods, data, test, labels):
    """Draw decision values of unseen rows of two classes, which `labels` names."""
    axes = fig.subplots(1, len(methods), squeeze=False)[0]
    for ax, (name, fitted) in zip(axes, methods.items(), strict=True):
        values = fitted.decision_function(data.X[test])
        bins = np.linspace(values.min(), values.max(), 25)
        for kind, label in labels.items():
            ax.hist(values[data.y[test] == kind], bins, alpha=0.6, label=label)
        wrong = int((fitted.predict(data.X[test]) != data.y[test]).sum())
        ax.axvline(0, color="0.5", lw=1)
        ax.set(title=f"{name}: {wrong} of {len(test)} unseen wrong", xlabel="decision value")
        ax.legend(frameon=False)
