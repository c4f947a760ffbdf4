"""Thirty real tables, each with the problem of the chooser that should come first.

The labels were written down before the rules of `skmoderndata.suggest` were changed. All tables
come with scikit-learn, with this package, and with matplotlib and networkx, which the tests
install. A label is the beginning of a `problem` in `choose.toml`.
"""

import ast
import gzip
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.feature_extraction.text import CountVectorizer

from skmoderndata.datasets import (
    load_language_names,
    load_peptides,
    make_boolean_sources,
)


class Table(NamedTuple):
    """Data, and the problem that should come first.

    Attributes
    ----------
    wanted : str
        Beginning of the problem.
    load : callable
        Returns X and y; y is None for data without a target.
    about : str or None
        Words passed to `suggest`.
    """

    wanted: str
    load: Callable[[], tuple[Any, Any]]
    about: str | None = None


def cancer(*, as_frame: bool = True) -> tuple[Any, Any]:
    """Shapes of cell nuclei, benign or malignant."""
    return datasets.load_breast_cancer(return_X_y=True, as_frame=as_frame)


def broken_cancer() -> tuple[Any, Any]:
    """Hide 5 % of the cells and break 1 %."""
    X = cancer()[0]
    rng = np.random.default_rng(0)
    chance = rng.random(X.shape)
    wrong = X + rng.choice([-1, 1], size=X.shape) * 10 * X.std().to_numpy()
    return X.mask(chance < 0.01, wrong).mask(chance > 0.95), None


def in_dask(X: Any, y: Any) -> tuple[Any, Any]:
    """Return a Dask array or data frame of four chunks."""
    import dask.array
    import dask.dataframe

    if isinstance(X, pd.DataFrame):
        return dask.dataframe.from_pandas(X, npartitions=4), y
    return dask.array.from_array(X, chunks=(-(-len(X) // 4), X.shape[1])), y


def graded_diabetes() -> tuple[Any, Any]:
    """Replace the progress of the disease by grades from 1 to 5."""
    X, y = datasets.load_diabetes(return_X_y=True, as_frame=True)
    return X, pd.qcut(y, 5, labels=False) + 1


def linnerud() -> tuple[Any, Any]:
    """Exercises and bodies of twenty men."""
    return list(datasets.load_linnerud(return_X_y=True)), None


def docstrings() -> tuple[list[str], Any]:
    """Documentation of the functions of two modules of SciPy."""
    import scipy.linalg
    import scipy.stats

    functions = [
        value
        for module in (scipy.linalg, scipy.stats)
        for name, value in sorted(vars(module).items())
        if inspect.isfunction(value) and not name.startswith("_")
    ]
    texts = [inspect.getdoc(function) or "" for function in functions]
    return [text for text in texts if len(text) > 300], None


def photograph() -> tuple[Any, Any]:
    """A grey photograph with noise."""
    image = datasets.load_sample_image("flower.jpg").mean(axis=2)[100:300, 200:440]
    return image + 20 * np.random.default_rng(0).normal(size=image.shape), None


def sample_file(name: str) -> Any:
    """Open a file that matplotlib ships."""
    from matplotlib import cbook

    return cbook.get_sample_data(name, asfileobj=False)


def scan() -> tuple[Any, Any]:
    """A slice of a head, from magnetic resonance."""
    with gzip.open(sample_file("s1045.ima.gz")) as file:
        return np.frombuffer(file.read(), dtype=np.uint16).reshape(256, 256), None


def outlines() -> tuple[list[np.ndarray], Any]:
    """Outlines of the digits 1 to 9 in twenty fonts, as (time, channels), with names of digits."""
    from matplotlib import font_manager, textpath

    folder = Path(font_manager.findfont("DejaVu Sans")).parent
    fonts = [path for path in sorted(folder.glob("*.ttf")) if path.name[:3] in ("Dej", "STI")]
    drawn = [
        (
            textpath.TextPath(
                (0, 0), digit, size=10, prop=font_manager.FontProperties(fname=font)
            ),
            digit,
        )
        for font in fonts
        for digit in "123456789"
    ]
    series = [
        (path.to_polygons()[0], digit) for path, digit in drawn if len(path.vertices) > 4
    ]
    return [points for points, _ in series], np.array([digit for _, digit in series])


def club() -> tuple[Any, Any]:
    """Friendships in a karate club."""
    import networkx

    return networkx.karate_club_graph(), None


def atlas() -> tuple[Any, Any]:
    """All graphs of six nodes, connected or not."""
    import networkx

    graphs = [graph for graph in networkx.graph_atlas_g() if len(graph) == 6]
    return graphs, np.array([networkx.is_connected(graph) for graph in graphs])


def brain() -> tuple[Any, Any]:
    """Four channels of an electroencephalogram, 800 steps."""
    return np.fromfile(sample_file("eeg.dat")).reshape(-1, 4), None


def stocks() -> pd.DataFrame:
    """Monthly prices of ten shares and indices, some of which start late."""
    return pd.read_csv(sample_file("Stocks.csv"), comment="#").drop(columns="Date")


def women() -> tuple[Any, Any]:
    """Eighteen women, and the fourteen events that they attended."""
    from networkx.algorithms import bipartite
    from networkx.generators import davis_southern_women_graph

    graph = davis_southern_women_graph()
    return bipartite.biadjacency_matrix(graph, graph.graph["top"]).toarray(), None


def functions() -> tuple[Any, Any]:
    """Syntax trees of the functions of a module, with a loop or without."""
    import argparse

    tree = ast.parse(inspect.getsource(argparse))
    trees = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    loops = (ast.For, ast.While)
    return trees, np.array([any(isinstance(n, loops) for n in ast.walk(t)) for t in trees])


def heights() -> tuple[Any, Any]:
    """Height of 8,000 places on a fault."""
    elevation = np.load(sample_file("jacksboro_fault_dem.npz"))["elevation"]
    places = np.random.default_rng(0).permutation(elevation.size)[:8000]
    rows, columns = np.unravel_index(places, elevation.shape)
    return np.column_stack([rows, columns]).astype(float), elevation[rows, columns].astype(
        float
    )


def coast() -> tuple[Any, Any]:
    """Whether 10,000 places of a map are land or sea."""
    globe = np.load(sample_file("topobathy.npz"))
    longitude, latitude = np.meshgrid(globe["longitude"], globe["latitude"])
    places = np.random.default_rng(0).permutation(longitude.size)[:10_000]
    X = np.column_stack([longitude.ravel(), latitude.ravel()])[places].astype(float)
    return X, np.where(globe["topo"].ravel()[places] > 0, "land", "sea")


TABLES = {
    "breast cancer, with classes": Table("A few features that separate classes", cancer),
    "wine, without classes": Table(
        "How many components", lambda: (datasets.load_wine(as_frame=True).data, None)
    ),
    "breast cancer, cells hidden and broken": Table("My sensor table", broken_cancer),
    "breast cancer, about outliers": Table(
        "Which samples are unlike", lambda: (cancer()[0], None), "outliers"
    ),
    "digits": Table("Parts of non-negative", lambda: (datasets.load_digits().data, None)),
    "digits, in Dask": Table(
        "A table larger than memory, in", lambda: in_dask(datasets.load_digits().data, None)
    ),
    "breast cancer, a Dask frame with classes": Table(
        "A small network", lambda: in_dask(*cancer())
    ),
    "diabetes": Table(
        "A few causes", lambda: datasets.load_diabetes(return_X_y=True, as_frame=True)
    ),
    "diabetes, in grades from 1 to 5": Table("Classes that have an order", graded_diabetes),
    "linnerud, two tables": Table("Two modalities", linnerud),
    "peptides": Table("Strings of events", lambda: load_peptides(return_X_y=True)),
    "names of languages": Table(
        "The language of a name", lambda: load_language_names(return_X_y=True)
    ),
    "documentation of SciPy": Table("What are these documents", docstrings),
    "words of the documentation, a sparse matrix": Table(
        "What are these documents",
        lambda: (CountVectorizer().fit_transform(docstrings()[0]), None),
    ),
    "a photograph": Table("An image", photograph),
    "a scan of a head": Table("An image", scan),
    "outlines of digits, (time, channels), with digits": Table(
        "Classification of series", outlines
    ),
    "outlines of digits, (channels, time), with digits": Table(
        "Classification of series", lambda: ([x.T for x in outlines()[0]], outlines()[1])
    ),
    "outlines of digits, without digits": Table(
        "Groups of series", lambda: (outlines()[0], None)
    ),
    "a karate club": Table("Nodes of one graph", club),
    "graphs of six nodes": Table("Labelled graphs", atlas),
    "an electroencephalogram": Table("Fast signals", brain),
    "prices of shares, with gaps": Table("My table has many gaps", lambda: (stocks(), None)),
    "price of a share, a series with gaps": Table(
        "What drives", lambda: (stocks()["GOOGL"], None)
    ),
    "days of a share, with dates": Table(
        "Fast signals", lambda: (pd.read_csv(sample_file("msft.csv")), None)
    ),
    "women at events": Table("From access rights to roles, with exceptions", women),
    "planted roles": Table(
        "From access rights to roles, with exceptions",
        lambda: (make_boolean_sources(random_state=0)[0], None),
    ),
    "syntax trees": Table("Trees", functions),
    "heights of places": Table("A Gaussian process", heights),
    "land or sea": Table("Class probabilities", coast),
}
