"""Pictures of a report, as SVG that follows the colours of the page."""

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np

import skmoderndata
from skmoderndata._estimator.plotting import figure_size

# Maximum number of bands of rows in the picture of the gaps.
N_BANDS = 200
# Maximum number of columns in a picture.
MAX_SHOWN = 20
# Maximum number of letters of a name in a picture.
MAX_LETTERS = 28
# Size of a picture of curves, in lines of text.
CURVES = 6
# Placeholder that is replaced by the text colour of the page.
INK = "#010203"
BLUE = "#3d85c6"
ORANGE = "#e07b39"
STYLE = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "font.size": 10.0,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def svg(draw: Callable[[], Any], name: str) -> str:
    """Return a picture as a reproducible `svg` element; "" without matplotlib."""
    try:
        import matplotlib as mpl
    except ImportError:
        return ""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE | {"svg.hashsalt": name})
        text = io.StringIO()
        draw().savefig(text, format="svg", metadata={"Date": None, "Creator": None})

    # Keep only the svg element; make its names unique, and use the colours of the page
    picture = text.getvalue()
    picture = picture[picture.index("<svg") :]
    picture = re.sub(r"<(metadata|style).*?</\1>", "", picture, flags=re.DOTALL)
    picture = re.sub(r'<(g|text) id="[^"]*"', r"<\1", picture)
    picture = re.sub(r' id="(?=[^"]*")', f' id="{_word(name)}-', picture)
    picture = picture.replace("url(#", f"url(#{_word(name)}-")
    picture = picture.replace('xlink:href="#', f'xlink:href="#{_word(name)}-')
    picture = picture.replace(INK, "currentColor")
    return picture.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1).strip()


def _word(name: str) -> str:
    return name.replace(" ", "-")


def _axes(n_lines: int) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=figure_size(n_lines), layout="constrained").subplots()


def _short(names: list[str]) -> list[str]:
    """Shorten long names in the middle, and escape the dollar signs of formulas.

    Names of similar columns often differ only at their end.
    """
    head = MAX_LETTERS // 2
    tail = MAX_LETTERS - head - 1
    cut = [
        name
        if len(name) <= MAX_LETTERS
        else f"{name[:head]}\N{HORIZONTAL ELLIPSIS}{name[-tail:]}"
        for name in names
    ]
    return [name.replace("$", r"\$") for name in cut]


def _shades() -> Any:
    """Return colours from transparent to blue, for a page of any colour."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    ends = [(*to_rgba(BLUE)[:3], alpha) for alpha in (0.0, 1.0)]
    return LinearSegmentedColormap.from_list("shades", ends)


def _bars(names: list[str], values: Any, xlabel: str, **style: Any) -> Any:
    """Draw horizontal bars, the first one on top."""
    ax = _axes(len(names))
    ax.barh(np.arange(len(names)), values, color=BLUE, **style)
    ax.set_yticks(np.arange(len(names)), _short(names))
    ax.set(ylim=(len(names) - 0.5, -0.5), xlabel=xlabel)
    return ax


def gap_map(gaps: np.ndarray, names: list[str]) -> Any:
    """Draw the fraction of empty cells in bands of rows, for the columns with most gaps."""
    names = names[:MAX_SHOWN]
    bands = np.array_split(gaps[:, :MAX_SHOWN], min(N_BANDS, len(gaps)))
    fraction = np.array([band.mean(axis=0) for band in bands]).T
    ax = _axes(len(names))
    extent = (0, len(gaps), len(names) - 0.5, -0.5)
    ax.imshow(
        fraction, aspect="auto", interpolation="nearest", cmap=_shades(), vmin=0, extent=extent
    )
    ax.set_yticks(np.arange(len(names)), _short(names))
    ax.set(xlabel="row; blue: empty cells")
    return ax.figure


def ranges(sizes: np.ndarray, names: list[str]) -> Any:
    """Draw interquartile ranges on a logarithmic scale: the largest and the smallest."""
    half = MAX_SHOWN // 2
    shown = np.arange(len(names))
    if len(shown) > MAX_SHOWN:
        shown = np.r_[shown[:half], shown[-half:]]
    ax = _axes(len(shown))
    ax.plot(sizes[shown], np.arange(len(shown)), "o", color=BLUE)
    ax.set_yticks(np.arange(len(shown)), _short([names[i] for i in shown]))
    ax.set(
        xscale="log",
        ylim=(len(shown) - 0.5, -0.5),
        xlabel="interquartile range (logarithmic scale)",
    )
    return ax.figure


def search_curve(search: Any) -> Any:
    """Draw the scores of a search by hidden cells."""
    ax = _axes(CURVES)
    skmoderndata.model_selection.EntrySearchDisplay.from_estimator(
        search, param_name="n_components", ax=ax, color=BLUE
    )
    ax.set(xlabel="number of components", ylabel="score of hidden cells")
    return ax.figure


def sizes(deviations: list[float], cells: list[str], rows: list[str]) -> Any:
    """Draw the distance of the largest broken cells from their expected values."""
    if deviations:
        return _bars(cells, deviations, "distance in deviations of the noise").figure

    # If there are only odd rows, list them
    ax = _axes(0)
    ax.text(0.0, 0.5, f"odd rows: {', '.join(_short(rows[: MAX_SHOWN // 2]))}", va="center")
    ax.set_axis_off()
    return ax.figure


def drift(ranks: np.ndarray, block: np.ndarray, names: list[str]) -> Any:
    """Draw the mean rank of each block of rows for some columns; -1 means no block."""
    ax = _axes(CURVES)
    for j, name in enumerate(_short(names)):
        blocks = np.unique(block[block[:, j] >= 0, j])
        means = [ranks[block[:, j] == b, j].mean() for b in blocks]
        ax.plot(blocks + 1, means, "o-", markersize=4, label=name)
    ax.axhline(0.0, color=INK, linewidth=0.5)
    ax.set(xlabel="tenth of the rows", ylabel="mean rank (standardised)")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax.figure


def correlations(matrix: np.ndarray, names: list[str]) -> Any:
    """Draw the rank correlations of the columns of all groups."""
    names = _short(names[:MAX_SHOWN])
    matrix = matrix[:MAX_SHOWN, :MAX_SHOWN]
    ax = _axes(4 + len(names))
    image = ax.imshow(matrix, aspect="auto", cmap=_shades(), vmin=0, vmax=1)
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_xticks(np.arange(len(names)), names, rotation="vertical")
    ax.figure.colorbar(image, ax=ax, label="|rank correlation|")
    return ax.figure


def roles(names: list[str], counts: list[int], expected: list[float]) -> Any:
    """Draw how many rows have all columns of a set, and how many would have them by chance."""
    ax = _bars(names, counts, "rows with all columns of the set", label="found")
    ax.plot(expected, np.arange(len(names)), "d", color=ORANGE, label="if independent")
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return ax.figure
