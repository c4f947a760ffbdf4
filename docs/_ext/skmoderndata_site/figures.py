"""Pictures of the start page and of the guide, drawn by the methods themselves at build time."""

import io
import warnings

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from skmoderndata.cluster import MultiAssignmentClustering, TimeSeriesKMeans
from skmoderndata.cross_decomposition import KernelCCA
from skmoderndata.datasets import load_peptides, make_boolean_sources
from skmoderndata.decomposition import RobustPCA, SlowFeatureAnalysis, SparseNMF
from skmoderndata.kernel_approximation import IncompleteCholesky
from skmoderndata.kernels import BlendedSpectrum, Normalized
from skmoderndata.metrics import dtw_path
from skmoderndata.model_selection import ClusteringStability
from skmoderndata.sparse_coding import SparseRecovery
from skmoderndata.svm import CoreVectorMachine, KernelAdatronClassifier

BLUE = "#1f6fb2"
RED = "#c8452f"
GREY = "0.65"
SIZE = (5.4, 2.6)  # inches, at 120 points an inch
STYLE = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def broken_table(figure, rng):
    """Robust PCA: a table of sensors, split into common causes and broken readings."""
    clean = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 24))
    broken = rng.uniform(size=clean.shape) < 0.06
    X = np.where(broken, 6 * rng.choice([-1, 1], size=clean.shape), clean)
    X += 0.3 * rng.normal(size=clean.shape)
    model = RobustPCA().fit(X)
    parts = {"sensor table": X, "low rank": model.low_rank_, "broken readings": model.sparse_}
    for ax, (name, values) in zip(figure.subplots(1, 3), parts.items(), strict=True):
        ax.imshow(values, cmap="RdBu_r", vmin=-6, vmax=6, aspect="auto", interpolation="none")
        ax.set(title=name, xticks=[], yticks=[])


def components(figure, rng):
    """Slow feature analysis: two fast signals, and the slow function of them."""
    t = np.linspace(0, 4 * np.pi, 1500)
    X = np.c_[np.sin(t) + 2 * np.cos(11 * t) ** 2, np.cos(11 * t)]
    X += 0.003 * rng.normal(size=X.shape)
    slow = SlowFeatureAnalysis(n_components=1, degree=2).fit_transform(X)
    top, bottom = figure.subplots(2, 1, sharex=True)
    top.plot(t, X[:, 0], color=GREY, lw=0.6)
    top.plot(t, X[:, 1] - 3, color=GREY, lw=0.6)
    top.set(title="what is measured: two fast signals", yticks=[])
    bottom.plot(t, slow, color=BLUE)
    bottom.set(
        title="the slowest quadratic function of both", yticks=[], xticks=[], xlabel="time"
    )


def codes(figure, rng):
    """Sparse recovery: 128 coefficients from 40 measurements."""
    truth = np.zeros(128)
    truth[rng.choice(128, 9, replace=False)] = rng.choice([-1, 1], 9) * rng.uniform(
        0.5, 1.5, 9
    )
    measure = rng.normal(size=(40, 128)) / np.sqrt(40)
    model = SparseRecovery(None, "basis_pursuit").fit(measure, measure @ truth)
    least = np.linalg.pinv(measure) @ measure @ truth
    top, bottom = figure.subplots(2, 1, sharex=True, sharey=True)
    for ax, values, name in (
        (top, least, "least squares from 40 measurements of 128 numbers"),
        (bottom, model.coef_, "fewest non-zeros, by basis pursuit"),
    ):
        ax.vlines(range(128), 0, values, color=BLUE, lw=1.2)
        shown = np.flatnonzero(truth)
        ax.plot(shown, truth[shown], "o", color=RED, mfc="none", ms=5, label="truth")
        ax.set(title=name, yticks=[0], xticks=[])
    top.legend(frameon=False, loc="upper right")


def factors(figure, rng):
    """Sparse NMF: digits as sums of strokes."""
    digits = load_digits().data[:600] / 16
    model = SparseNMF(16, alpha=0.05, random_state=0, max_iter=200, tol=1e-3)
    codes = model.fit_transform(digits)
    mosaic = model.components_.reshape(2, 8, 8, 8) / model.components_.max()
    mosaic = (
        np.pad(mosaic, ((0, 0), (0, 0), (1, 1), (1, 1))).transpose(0, 2, 1, 3).reshape(20, 80)
    )
    top, left, right = figure.subplot_mosaic([["parts", "parts"], ["digit", "sum"]]).values()
    for ax, image, name in (
        (top, mosaic, "sixteen parts"),
        (left, digits[12].reshape(8, 8), "a digit"),
        (right, (codes[12] @ model.components_).reshape(8, 8), "the sum of its parts"),
    ):
        ax.imshow(image, cmap="gray_r")
        ax.set_title(name)
        ax.set_axis_off()


def kernels(figure, rng):
    """A kernel on strings: peptides of two kinds, and a support vector machine on new ones."""
    X, y = load_peptides(return_X_y=True)
    order = np.argsort(y, kind="stable")
    X = [X[i] for i in order]
    y = y[order]
    kernel = Normalized(BlendedSpectrum(3))
    machine = SVC(kernel=kernel).fit(X[::2], y[::2])
    scores = machine.decision_function(X[1::2])
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    left.imshow(kernel(X[::8]), cmap="Blues", vmax=0.5)
    left.set(title="strings compared by a kernel", xticks=[], yticks=[])
    groups = [scores[y[1::2] == kind] for kind in np.unique(y)]
    right.hist(groups, bins=20, color=[BLUE, RED], histtype="stepfilled", alpha=0.7)
    right.set(title="other strings, scored by SVC", yticks=[], xlabel="decision function")


def series(figure, rng):
    """Dynamic time warping: an alignment of two series, and prototypes by k-means."""
    t = np.linspace(0, 1, 60)
    bumps = [np.exp(-(((t - at) / 0.07) ** 2)) for at in (0.3, 0.45)]
    x = bumps[0] + 0.6 * np.roll(bumps[0], 25)
    z = bumps[1] + 0.6 * np.roll(bumps[1], 15)
    path, _ = dtw_path(x, z)

    # bumps, waves and ramps under warped time
    shapes = [np.sign(np.sin(8 * t)), np.sin(8 * t), 2 * t - 1]
    X = [
        np.interp(t ** rng.uniform(0.6, 1.6), t, shapes[i % 3]) + 0.15 * rng.normal(size=60)
        for i in range(60)
    ]

    model = TimeSeriesKMeans(3, radius=15, random_state=0).fit(X)

    left, right = figure.subplots(1, 2)
    for i, j in path[::2]:
        left.plot([t[i], t[j]], [x[i] + 1.6, z[j]], color=GREY, lw=0.5)
    left.plot(t, x + 1.6, color=BLUE)
    left.plot(t, z, color=RED)
    left.set(title="two series and their alignment", xticks=[], yticks=[])

    for k, centre in enumerate(model.cluster_centers_):
        for member in (X[i] for i in np.flatnonzero(model.labels_ == k)):
            right.plot(t, member - 3 * k, color=GREY, lw=0.3)
        right.plot(t, np.ravel(centre) - 3 * k, color=RED)
    right.set(title="groups and their prototypes", xticks=[], yticks=[])


def margins(figure, rng):
    """A core vector machine on a checkerboard: all samples are looked at, few are kept."""
    X = rng.uniform(0, 4, size=(6000, 2))
    y = np.floor(X).sum(axis=1).astype(int) % 2
    model = CoreVectorMachine(C=100, gamma=4, random_state=0).fit(X, y)
    side = np.linspace(0, 4, 120)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    left, right = figure.subplots(1, 2)
    left.scatter(*X.T, c=y, cmap="coolwarm", s=1, linewidths=0)
    left.set(title=f"{len(X):,} samples", xticks=[], yticks=[], aspect="equal")
    right.contourf(
        side, side, model.predict(grid).reshape(120, 120), cmap="coolwarm", alpha=0.5
    )
    right.plot(*X[model.support_].T, "k.", ms=2)
    right.set(
        title=f"{len(model.support_)} in the machine", xticks=[], yticks=[], aspect="equal"
    )


def boolean(figure, rng):
    """Multi-assignment clustering: rights of users as the union of few roles."""
    X, _, _, _ = make_boolean_sources(120, 40, n_sources=5, noise=0.05, random_state=0)
    model = MultiAssignmentClustering(5, random_state=0).fit(X)
    order = np.lexsort(model.assignments_.T)
    columns = np.lexsort(model.components_)
    parts = {
        "rights of users": X[order][:, columns],
        "= users in roles": model.assignments_[order],
        "o rights of roles": model.components_[:, columns],
    }
    axes = figure.subplots(1, 3, width_ratios=(2, 0.7, 2))
    for ax, (name, values) in zip(axes, parts.items(), strict=True):
        ax.imshow(values, cmap="Blues", aspect="auto", interpolation="none", vmax=1.3)
        ax.set(title=name, xticks=[], yticks=[])


def views(figure, rng):
    """Kernel CCA: what two views of the same samples share, though no line shows it."""
    angle = rng.uniform(0, 2 * np.pi, size=500)
    X = np.c_[np.cos(angle), np.sin(angle)] + 0.12 * rng.normal(size=(500, 2))
    Y = np.c_[np.cos(2 * angle), rng.normal(size=500)] + 0.12 * rng.normal(size=(500, 2))
    a, b = KernelCCA(1, alpha=0.01).fit(X, Y).transform(X, Y)
    first, second, shared = figure.subplots(1, 3)
    names = "view 1", "view 2", "what they share"
    colour = {"c": a.ravel(), "cmap": "viridis", "s": 5, "linewidths": 0}
    first.scatter(*X.T, **colour)
    second.scatter(*Y.T, **colour)
    shared.scatter(a, b, **colour)
    for ax, name in zip((first, second, shared), names, strict=True):
        ax.set(title=name, xticks=[], yticks=[])


def choosing(figure, rng):
    """Stability of clusterings: four groups, and the number that is stable."""
    centres = 4.5 * np.array([[0, 0], [1.2, 0], [0.2, 1.1], [1.6, 1.1]])
    X = centres[np.arange(240) % 4] + rng.normal(size=(240, 2))
    search = ClusteringStability(KMeans(n_init=2), random_state=0).fit(X)
    cloud, curve = figure.subplots(1, 2)
    cloud.scatter(*X.T, c=search.labels_, cmap="tab10", s=6)
    cloud.set(title="samples", xticks=[], yticks=[], aspect="equal")
    curve.errorbar(
        search.param_range_,
        search.stability_,
        yerr=search.standard_error_,
        color=BLUE,
        marker="o",
    )
    curve.set(title="stability", xlabel="number of clusters", ylim=(0, 1.05))


def scale(figure, rng):
    """Incomplete Cholesky decomposition: how few samples stand for a kernel matrix."""
    angle = rng.uniform(0, np.pi, size=200)
    arc = 3 * np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.normal(size=(200, 2))
    spots = 0.3 * rng.normal(size=(1800, 2)) + np.array([[-1.0, 0.0], [1.0, 0.0]]).repeat(
        900, 0
    )
    X = np.r_[arc, spots]
    ranks = (5, 10, 20, 40, 80)
    models = [IncompleteCholesky(k, gamma=2.0, random_state=0).fit(X) for k in ranks]
    cloud, curve = figure.subplots(1, 2)
    cloud.plot(*X.T, ".", color="0.85", ms=2)
    cloud.plot(*models[3].components_.T, "o", color=RED, mfc="none", ms=4)
    cloud.set(title="40 of 2,000 samples", xticks=[], yticks=[], aspect="equal")
    curve.semilogy(
        ranks, [model.residual_trace_ / len(X) for model in models], "o-", color=BLUE
    )
    curve.set(title="fraction of the kernel left out", xlabel="samples used")


def textbook(figure, rng):
    """Kernel adatron: the boundary of a support vector machine by the simplest steps."""
    X, y = make_moons(160, noise=0.12, random_state=0)
    grid = np.stack(
        np.meshgrid(np.linspace(-1.6, 2.6, 120), np.linspace(-1.1, 1.6, 90)), axis=-1
    )
    map_, curve = figure.subplots(1, 2)
    map_.scatter(*X.T, c=y, cmap="coolwarm", s=6)
    machines = {
        "SVC": (SVC(gamma=2.0, C=10.0).fit(X, y), GREY, "solid"),
        "adatron": (KernelAdatronClassifier(gamma=2.0, C=10.0).fit(X, y), BLUE, "dashed"),
    }
    for machine, color, line in machines.values():
        values = machine.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        map_.contour(grid[..., 0], grid[..., 1], values, [0], colors=color, linestyles=line)
    map_.set(title="SVC (grey) and adatron (dashed)", xticks=[], yticks=[])

    passes = (1, 2, 4, 8, 16, 32, 64)
    exact = machines["SVC"][0].predict(grid.reshape(-1, 2))
    differs = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for n in passes:
            early = KernelAdatronClassifier(gamma=2.0, C=10.0, max_iter=n).fit(X, y)
            differs.append((early.predict(grid.reshape(-1, 2)) != exact).mean())
    curve.semilogx(passes, differs, "o-", color=BLUE, base=2)
    curve.set(title="share of the plane that differs", xlabel="passes")


FIGURES = (
    broken_table, components, codes, factors, kernels, series, margins, boolean, views, choosing,
    scale, textbook,
)  # fmt: skip


def draw(function):
    """PNG of a picture, the same bytes whenever the methods give the same."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=SIZE, dpi=120, layout="constrained")
        function(figure, np.random.default_rng(0))
        buffer = io.BytesIO()
        figure.savefig(buffer, metadata={"Software": None})
    return buffer.getvalue()


def write(folder):
    """Draw all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for function in FIGURES:
        path = folder / f"{function.__name__}.png"
        picture = draw(function)
        if not path.exists() or path.read_bytes() != picture:
            path.write_bytes(picture)
