"""Plot of the atoms of a dictionary, or of the components of a factorisation."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.plotting import (
    FRAME,
    LINE,
    NAMED_UP_TO,
    axes_or_new,
    check_limit,
    count_of,
    figure_size,
    last_step,
    name_ticks,
)

KINDS = ("image", "signal", "table")
# Maximum number of atoms that are legible in one plot.
MAX_ATOMS = {"image": 100, "signal": 20, "table": 20}
# Largest magnitude of a negative entry that counts as zero, relative to the largest entry.
ROUNDING = 1e-6
# Smallest mean of red, green and blue at which a colour is hard to distinguish from white.
BRIGHT = 0.85
# Distance between one signal and the next, in units of their largest magnitude.
SIGNAL_STEP = 2.2


class AtomsDisplay:
    """Plot of atoms or components as images, as signals, or as a table of named features.

    Each atom is scaled by its entry of largest magnitude, so the plot shows only its shape.

    Parameters
    ----------
    atoms : array-like or sparse matrix of shape (n_atoms, n_features)
        Atoms, one in each row.

    image_shape : tuple of int, default=None
        Numbers of rows and columns of pixels, for atoms that are images; (rows, columns, 3) for
        images in red, green and blue, whose entries of 0 are drawn at half brightness.

    feature_names : array-like of str of shape (n_features,), default=None
        Names of the features.

    usage : array-like of shape (n_atoms,), default=None
        Number of uses of each atom; the most used atom is drawn first. None keeps the order.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot.

    figure_ : matplotlib Figure
        Figure of the plot.

    image_ : matplotlib AxesImage or None
        Sheet of images, or table.

    lines_ : list of matplotlib Line2D
        Signals, from top to bottom; empty for images and tables.

    order_ : ndarray of int of shape (n_drawn,)
        Indices of the atoms in drawing order: images row by row, signals from top to bottom,
        columns of a table from left to right.

    See Also
    --------
    KSVD, FeatureSignDictionaryLearning, Sparsenet : Learn dictionaries.
    SparseNMF, SemiNMF, ConvexNMF, ProbabilisticLSA : Factorisations with such components.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmoderndata.decomposition import AtomsDisplay, SparseNMF
    >>> nmf = SparseNMF(16).fit(load_digits().data)
    >>> display = AtomsDisplay.from_estimator(nmf, image_shape=(8, 8))  # doctest: +SKIP
    >>> display = AtomsDisplay(atoms=nmf.components_, image_shape=(8, 8))
    >>> display.atoms.shape
    (16, 64)
    """

    def __init__(self, *, atoms, image_shape=None, feature_names=None, usage=None):
        self.atoms = atoms
        self.image_shape = image_shape
        self.feature_names = feature_names
        self.usage = usage

    @classmethod
    def from_estimator(
        cls,
        estimator,
        *,
        image_shape=None,
        feature_names=None,
        kind=None,
        max_atoms=None,
        n_columns=None,
        ax=None,
        **kwargs,
    ):
        """Plot the rows of `components_` of a fitted estimator.

        Parameters
        ----------
        estimator : estimator with `components_`
            Fitted dictionary, factorisation, or scikit-learn's `PCA` or `NMF`; for a pipeline,
            its last step is drawn. If the estimator has `usage_`, the most used atom comes first.
        image_shape : tuple of int, default=None
            Numbers of rows and columns of pixels, for atoms that are images; (rows, columns, 3)
            for colour images.
        feature_names : array-like of str, default=None
            Names of the features; None uses the names of the table that the estimator was fitted
            to.
        kind : {"image", "signal", "table"}, default=None
            Kind of plot: "image" for pixels, "signal" for ordered features, such as points in
            time, "table" for features of different kinds, such as words. None means "image" if
            `image_shape` is given, otherwise "table" if the features have names, otherwise
            "signal".
        max_atoms : int, default=None
            Maximum number of atoms that are drawn; None means 100 images, 20 signals or 20
            columns of a table.
        n_columns : int, default=None
            Number of images beside each other; None makes the sheet about square.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.imshow`, or of
            :meth:`matplotlib.axes.Axes.plot` for signals.

        Returns
        -------
        display : AtomsDisplay
            Display with `ax_` and `figure_`.
        """
        check_is_fitted(estimator)
        step = last_step(estimator)
        atoms = getattr(step, "components_", None)
        if atoms is None or np.ndim(atoms) != 2:
            found = "has none" if atoms is None else f"has an array of shape {np.shape(atoms)}"
            raise ValueError(
                f"AtomsDisplay draws the rows of a two-dimensional array components_, but "
                f"{type(step).__name__} {found}: pass the atoms as AtomsDisplay(atoms=...)."
            )

        if feature_names is None:
            feature_names = getattr(step, "feature_names_in_", None)

        display = cls(
            atoms=atoms,
            image_shape=image_shape,
            feature_names=feature_names,
            usage=getattr(step, "usage_", None),
        )
        return display.plot(ax, kind=kind, max_atoms=max_atoms, n_columns=n_columns, **kwargs)

    def plot(self, ax=None, *, kind=None, max_atoms=None, n_columns=None, **kwargs):
        """Plot the atoms.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        kind : {"image", "signal", "table"}, default=None
            Kind of plot, as in :meth:`from_estimator`.
        max_atoms : int, default=None
            Maximum number of atoms that are drawn; None means 100 images, 20 signals or 20
            columns of a table.
        n_columns : int, default=None
            Number of images beside each other; None makes the sheet about square.
        **kwargs : dict
            Keyword arguments of :meth:`matplotlib.axes.Axes.imshow`, or of
            :meth:`matplotlib.axes.Axes.plot` for signals.

        Returns
        -------
        self : AtomsDisplay
            Display with `ax_` and `figure_`.
        """
        atoms = self._checked_atoms()
        kind = self._checked_kind(kind, atoms.shape[1])
        limit = MAX_ATOMS[kind] if max_atoms is None else max_atoms
        check_limit("max_atoms", limit)
        if n_columns is not None:
            check_limit("n_columns", n_columns)

        # select the most used atoms, and scale each by its largest magnitude
        order = np.arange(len(atoms))
        if self.usage is not None:
            order = np.argsort(-np.asarray(self.usage), kind="stable")
        self.order_ = order[:limit]
        largest = np.abs(atoms).max(axis=1, keepdims=True)
        scaled = (atoms / np.where(largest > 0, largest, 1.0))[self.order_]

        if kind == "image":
            ax = self._draw_images(ax, scaled, n_columns, **kwargs)
        elif kind == "signal":
            ax = self._draw_signals(ax, scaled, **kwargs)
        else:
            ax = self._draw_table(ax, scaled, **kwargs)
        title = count_of(len(scaled), len(atoms), "atom")
        ax.set_title(title if self.usage is None else f"{title}, most used first")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _checked_atoms(self):
        """Return the atoms as a table of real numbers."""
        atoms = self.atoms.toarray() if sparse.issparse(self.atoms) else np.asarray(self.atoms)
        if atoms.ndim != 2 or atoms.size == 0:
            raise ValueError(
                f"AtomsDisplay: atoms has shape {atoms.shape}; pass a non-empty table with one "
                "atom in each row."
            )
        if np.iscomplexobj(atoms):
            raise ValueError(
                "AtomsDisplay: atoms are complex; pass their real part, atoms.real."
            )
        return atoms.astype(np.float64)

    def _checked_kind(self, kind, n_features):
        """Return the kind of plot, checked against `image_shape` and `feature_names`."""
        # the default depends on `image_shape` and `feature_names`
        if kind is None and self.image_shape is not None:
            kind = "image"
        elif kind is None:
            kind = "signal" if self.feature_names is None else "table"

        if kind not in KINDS:
            raise ValueError(f"kind={kind!r} should be 'image', 'signal', 'table' or None.")
        names = self.feature_names
        if names is not None and len(names) != n_features:
            raise ValueError(
                f"feature_names has {len(names)} names, but the atoms have {n_features} entries."
            )
        if kind != "image":
            return kind

        shape = self.image_shape
        fits = np.shape(shape) == (2,) or (np.shape(shape) == (3,) and shape[2] == 3)
        if not fits or np.prod(shape) != n_features:
            raise ValueError(
                f"image_shape={shape!r} should be the numbers of rows and columns of pixels; "
                f"their product must be {n_features}, the number of entries of an atom."
            )
        return kind

    def _draw_images(self, ax, scaled, n_columns, **kwargs):
        """Draw all atoms in one sheet, with a line of one pixel between them."""
        rows, columns, *colours = self.image_shape
        k = len(scaled)
        across = n_columns
        if across is None:
            across = min(k, int(np.ceil(np.sqrt(k * rows / columns))))
        down = -(-k // across)
        tiles = 0.5 + 0.5 * scaled if colours else scaled

        # place the tiles, with a border of one pixel
        sheet = np.full((down * (rows + 1) + 1, across * (columns + 1) + 1, *colours), np.nan)
        for j, tile in enumerate(tiles):
            top = 1 + (rows + 1) * (j // across)
            left = 1 + (columns + 1) * (j % across)
            sheet[top : top + rows, left : left + columns] = tile.reshape(self.image_shape)

        ax = axes_or_new(self, ax, layout="constrained")
        self.lines_ = []
        background = "white"
        if colours:
            self.image_ = ax.imshow(np.nan_to_num(sheet, nan=1.0), **kwargs)
        else:
            self.image_ = ax.imshow(sheet, **(_colours(scaled) | kwargs))
            # draw the border lines in a colour that differs from the colour of an atom of zeros
            brightness = self.image_.to_rgba(np.zeros((1, 1)))[0, 0, :3].mean()
            background = "0.75" if brightness > BRIGHT else "white"
        ax.set(xticks=[], yticks=[], facecolor=background)
        ax.spines[:].set_visible(False)
        return ax

    def _draw_signals(self, ax, scaled, **kwargs):
        """Draw the atoms one below the other, each above a line at zero."""
        k, p = scaled.shape
        ax = axes_or_new(self, ax, figsize=figure_size(k), layout="constrained")
        style = {"color": "C0", "linewidth": 1.0} | kwargs

        # draw each signal at its own level
        levels = -SIGNAL_STEP * np.arange(k)
        ax.hlines(levels, 0, p - 1, color="0.8", linewidth=0.5, zorder=0)
        self.lines_ = [
            ax.plot(atom + level, **style)[0]
            for atom, level in zip(scaled, levels, strict=True)
        ]
        self.image_ = None

        # set names and axes
        ax.set_yticks(levels, [str(j) for j in self.order_], fontsize="small")
        ax.set(xlabel="Feature", ylabel="Atom")
        ax.margins(x=0)
        ax.set_ylim(levels[-1] - SIGNAL_STEP / 2, SIGNAL_STEP / 2)
        name_ticks(ax.xaxis, self.feature_names, p, rotation="vertical")
        return ax

    def _draw_table(self, ax, scaled, **kwargs):
        """Draw features in rows and atoms in columns; if there are many features, the largest."""
        k, p = scaled.shape
        shown = largest_features(scaled, NAMED_UP_TO)
        names = range(p) if self.feature_names is None else self.feature_names
        size = (2 * FRAME + LINE * k, FRAME + LINE * len(shown))
        ax = axes_or_new(self, ax, figsize=size, layout="constrained")

        style = {"aspect": "auto", "interpolation": "nearest"} | kwargs
        self.image_ = ax.imshow(scaled[:, shown].T, **(_colours(scaled) | style))
        self.lines_ = []
        name_ticks(ax.yaxis, [str(names[j]) for j in shown], len(shown))
        ax.set_xticks(range(k), [str(j) for j in self.order_], fontsize="small")
        ax.set(xlabel="Atom", ylabel=count_of(len(shown), p, "feature"))
        ax.figure.colorbar(
            self.image_, ax=ax, label="Entry, relative to the largest of its atom"
        )
        return ax


def largest_features(scaled, limit):
    """Return the features of the largest entries, grouped by the atom in which they are largest.

    Parameters
    ----------
    scaled : ndarray of shape (n_atoms, n_features)
        Atoms.
    limit : int
        Maximum number of features. If there are fewer, all are returned in their order.

    Returns
    -------
    shown : ndarray of int of shape (n_shown,)
        Indices of features. Each atom contributes as many of its largest entries as fit.
    """
    p = scaled.shape[1]
    if p <= limit:
        return np.arange(p)
    sizes = np.abs(scaled)

    # rank the entries of each atom; select the largest entry of every atom, then the second
    # largest
    ranks = np.argsort(np.argsort(-sizes, axis=1, kind="stable"), axis=1)
    shown = np.argsort(ranks.min(axis=0), kind="stable")[:limit]
    atom = sizes[:, shown].argmax(axis=0)
    return shown[np.lexsort((-sizes[atom, shown], atom))]


def _colours(scaled):
    """Return colours centred at zero, or from white to black if no entry is negative."""
    if scaled.min() < -ROUNDING:
        return {"vmin": -1, "vmax": 1, "cmap": "RdBu_r"}
    return {"vmin": 0, "vmax": 1, "cmap": "Greys"}
