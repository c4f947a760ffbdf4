"""Plot of the roles in a Boolean table: the rights of each role, and the people who have it."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.plotting import (
    FRAME,
    LINE,
    check_limit,
    count_of,
    evenly,
    figure_size,
    last_step,
    name_ticks,
    names_of,
    several_axes_or_new,
)
from skmoderndata._solvers.common.arrays import as_numpy

# Kinds of cells in the plot of the table, and their colours.
CELLS = {
    "neither": "white",
    "granted by a role": "tab:blue",
    "granted without a role": "tab:red",
    "granted by a role only": "gold",
    "unknown": "0.8",
}


class RolesDisplay:
    """Plot of the roles in a Boolean table: the rights of each role, and the people who have it.

    The upper panel has a row for each role. The lower panel shows the table, with people who have
    the same roles next to each other and rights in the order of the roles. Its colours distinguish
    entries that the roles explain, entries that they do not explain, and entries that they wrongly
    add.

    Parameters
    ----------
    components : array-like of bool of shape (n_roles, n_features)
        Rights of each role.

    assignments : array-like of bool of shape (n_samples, n_roles)
        Roles of each person.

    table : array-like or sparse matrix of shape (n_samples, n_features), default=None
        Rights of each person in the data: 0, 1, or NaN if unknown. None draws the rights that the
        roles grant.

    row_names, column_names : array-like of str, default=None
        Names of people and rights; None numbers them.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (2,)
        Panels: roles, people.

    figure_ : matplotlib Figure
        Figure of the plot.

    images_ : list of matplotlib AxesImage
        The two images. The numbers in the lower image are 0 for a right in neither, 1 for an entry
        of the table that a role explains, 2 for an entry that no role explains, 3 for an entry
        that a role adds, and 4 for an unknown entry.

    row_order_, column_order_ : ndarray of int
        Indices of the people and of the rights that are drawn, in their order in the plot.

    See Also
    --------
    MultiAssignmentClustering, RoleMiner, DiscreteBasis : Find roles.
    BooleanKMeans, FormalConceptFactorization, RoundedSVD : Other Boolean components.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cluster import RoleMiner, RolesDisplay
    >>> access = np.array([[1, 1, 0, 0, 0], [0, 0, 0, 1, 1], [1, 1, 0, 1, 1]] * 4)
    >>> miner = RoleMiner(2).fit(access)
    >>> display = RolesDisplay.from_estimator(miner, access)  # doctest: +SKIP
    >>> display = RolesDisplay(
    ...     components=miner.components_, assignments=miner.assignments_, table=access
    ... )
    >>> display.assignments.sum(axis=0)
    array([8, 8])
    """

    def __init__(
        self, *, components, assignments, table=None, row_names=None, column_names=None
    ):
        self.components = components
        self.assignments = assignments
        self.table = table
        self.row_names = row_names
        self.column_names = column_names

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        *,
        row_names=None,
        column_names=None,
        max_rows=300,
        max_columns=200,
        axes=None,
        **kwargs,
    ):
        """Assign roles to the rows of a table, and plot both.

        Parameters
        ----------
        estimator : estimator with Boolean `components_`
            Fitted estimator: `MultiAssignmentClustering`, `RoleMiner`, `DiscreteBasis` or another
            Boolean factorisation.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rights of each person, in training rows or new rows.
        row_names, column_names : array-like of str, default=None
            Names of people and rights; None uses the names of a DataFrame.
        max_rows : int, default=300
            Maximum number of people drawn, evenly spaced in their order.
        max_columns : int, default=200
            Maximum number of rights drawn, beginning with the rights of roles.
        axes : array-like of two matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.imshow` for both panels.

        Returns
        -------
        display : RolesDisplay
            With `axes_` and `figure_`.
        """
        check_is_fitted(estimator)
        step = last_step(estimator)
        components = getattr(step, "components_", None)
        if not _is_boolean(components):
            raise ValueError(
                "RolesDisplay draws Boolean components_ (see RoleMiner), but "
                f"{type(step).__name__} has none: pass the data to draw as "
                "RolesDisplay(components=..., assignments=...)."
            )

        # use the bits and roles that the estimator uses
        display = cls(
            components=components,
            assignments=estimator.transform(X),
            table=_bits(X, getattr(step, "threshold", None)),
            row_names=names_of(X, "index") if row_names is None else row_names,
            column_names=names_of(X, "columns") if column_names is None else column_names,
        )
        return display.plot(axes, max_rows=max_rows, max_columns=max_columns, **kwargs)

    def plot(self, axes=None, *, max_rows=300, max_columns=200, **kwargs):
        """Plot roles and people.

        Parameters
        ----------
        axes : array-like of two matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        max_rows : int, default=300
            Maximum number of people drawn, evenly spaced in their order.
        max_columns : int, default=200
            Maximum number of rights drawn, beginning with the rights of roles.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.imshow` for both panels.

        Returns
        -------
        self : RolesDisplay
            With `axes_` and `figure_`.
        """
        check_limit("max_rows", max_rows)
        check_limit("max_columns", max_columns)
        roles, has_role = self._checked()
        n = len(has_role)
        k, p = roles.shape
        self.row_order_ = person_order(has_role)[evenly(n, max_rows)]
        self.column_order_ = right_order(roles)[:max_columns]
        cells = self._cells(roles, has_role)

        # make the heights of the panels proportional to the numbers of roles and people, with at
        # most 4 inches for people
        n_drawn, p_drawn = cells.shape
        heights = (LINE * k, min(LINE * n_drawn, 4.0))
        width = max(2 * FRAME + LINE * p_drawn, figure_size(0)[0])
        axes = several_axes_or_new(
            self,
            axes,
            2,
            1,
            figsize=(min(width, 10.0), 2 * FRAME + sum(heights)),
            height_ratios=heights,
            sharex=True,
            layout="constrained",
        )
        if len(axes) != 2:
            raise ValueError(f"RolesDisplay draws on two axes, got {len(axes)}.")
        style = {"aspect": "auto", "interpolation": "nearest"} | kwargs
        upper = axes[0].imshow(
            roles[:, self.column_order_], **({"cmap": "Greys", "vmin": 0, "vmax": 1} | style)
        )
        self.images_ = [upper, _draw_cells(axes[1], cells, style)]

        # label roles, people and rights
        members = has_role.sum(axis=0)
        labels = [
            f"role {j}: {count_of(m, m, 'person', 'people')}" for j, m in enumerate(members)
        ]
        name_ticks(axes[0].yaxis, labels, k)
        axes[0].set(title="Roles, and the number of people who have them")
        people = range(n) if self.row_names is None else self.row_names
        rights = range(p) if self.column_names is None else self.column_names
        name_ticks(axes[1].yaxis, [str(people[i]) for i in self.row_order_], n_drawn)
        name_ticks(
            axes[1].xaxis,
            [str(rights[j]) for j in self.column_order_],
            p_drawn,
            rotation="vertical",
        )
        axes[1].set(
            xlabel=count_of(p_drawn, p, "right"),
            ylabel=count_of(n_drawn, n, "person", "people"),
        )
        self.axes_ = axes
        self.figure_ = axes[0].figure
        return self

    def _checked(self):
        """Return roles and assignments; raise ValueError if the shapes do not match."""
        roles = np.asarray(self.components, dtype=bool)
        has_role = np.asarray(self.assignments, dtype=bool)
        if roles.ndim != 2 or has_role.ndim != 2 or len(roles) != has_role.shape[1]:
            raise ValueError(
                f"components of shape {roles.shape} and assignments of shape {has_role.shape} do "
                "not match: pass shapes (n_roles, n_features) and (n_samples, n_roles)."
            )
        shape = len(has_role), roles.shape[1]
        if self.table is not None and np.shape(self.table) != shape:
            raise ValueError(
                f"table has the shape {np.shape(self.table)}, but assignments and components "
                f"require {shape}."
            )
        for name, size in (("row_names", shape[0]), ("column_names", shape[1])):
            names = getattr(self, name)
            if names is not None and len(names) != size:
                raise ValueError(f"{name} has {len(names)} names, but must have {size}.")
        return roles, has_role

    def _cells(self, roles, has_role):
        """Compute the kind of each cell that is drawn, as a position in `CELLS`."""
        columns = self.column_order_
        granted = has_role[self.row_order_].astype(int) @ roles[:, columns].astype(int) > 0
        if self.table is None:
            return granted.astype(int)
        table = self.table
        if sparse.issparse(table):
            table = table.tocsr()[self.row_order_][:, columns].toarray()
        else:
            table = np.asarray(table, dtype=np.float64)[np.ix_(self.row_order_, columns)]

        kinds = np.where(table > 0.5, np.where(granted, 1, 2), np.where(granted, 3, 0))
        return np.where(np.isnan(np.asarray(table, dtype=np.float64)), 4, kinds)


def _is_boolean(components):
    return isinstance(components, np.ndarray) and components.dtype.kind == "b"


def person_order(has_role):
    """Order people so that people with the same roles are adjacent, the first role on top."""
    return np.lexsort(~has_role.T[::-1])


def right_order(roles):
    """Order rights by the first role that grants them; rights without a role come last."""
    first = np.where(roles.any(axis=0), roles.argmax(axis=0), len(roles))
    return np.lexsort((roles.sum(axis=0), first))


def _bits(X, threshold):
    """Convert X to 0 and 1 in the same way as the estimator; unknown entries remain NaN."""
    above = 0.5 if threshold is None else threshold
    if sparse.issparse(X):
        X = X.tocsr().astype(np.float64)
        return X > above if above >= 0 else _bits(X.toarray(), threshold)
    X = np.asarray(as_numpy(X), dtype=np.float64)
    return np.where(np.isnan(X), np.nan, X > above)


def _draw_cells(ax, cells, style):
    """Draw the kinds of cells in their colours, with a legend above."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    # one colour for each kind of cell
    colours = list(CELLS.values())
    colormap = ListedColormap(colours)
    image = ax.imshow(
        cells, **({"cmap": colormap, "vmin": -0.5, "vmax": len(CELLS) - 0.5} | style)
    )

    # draw a legend of the kinds of cells that occur, with their shares
    present = np.unique(cells)
    handles = [
        Patch(facecolor=colour, edgecolor="0.5", label=f"{name}: {(cells == kind).mean():.1%}")
        for kind, (name, colour) in enumerate(CELLS.items())
        if kind in present and kind > 0
    ]
    if handles:
        ax.legend(
            handles=handles,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=2,
            frameon=False,
            fontsize="small",
        )
    return image
