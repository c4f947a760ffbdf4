"""Twenty real tables, each with the classes that are right for it.

The labels were written down before `skmoderndata.suggest` had any rule. A table counts as right if
the first suggestion names one of its classes. The data come with scikit-learn, with this package,
with Python, and with aeon, matplotlib, networkx and statsmodels, which must be installed.
"""

import ast
import inspect
from typing import NamedTuple

import numpy as np


class Real(NamedTuple):
    """A table, and why its classes are right for it."""

    load: object  # () -> X, y
    right: tuple
    why: str


def _bunch(name, target):
    from sklearn import datasets

    data = getattr(datasets, f"load_{name}")()
    return data.data, data.target if target else None


def cancer():
    """Cell nuclei, benign or malignant."""
    return _bunch("breast_cancer", True)


def wine():
    """Chemistry of wines, without their growers."""
    return _bunch("wine", False)


def digits():
    """Images of 8 x 8 pixels, without labels."""
    return _bunch("digits", False)


def diabetes():
    """Progress of a disease."""
    return _bunch("diabetes", True)


def linnerud():
    """Exercises and bodies of twenty men."""
    from sklearn.datasets import load_linnerud

    data = load_linnerud()
    return [data.data, data.target], None


def peptides():
    """Strings of amino acids in two classes."""
    from skmoderndata.datasets import load_peptides

    return load_peptides(return_X_y=True)


def names():
    """Names of languages in several languages."""
    from skmoderndata.datasets import load_language_names

    return load_language_names(return_X_y=True)


def photograph():
    """A grey photograph with noise."""
    from sklearn.datasets import load_sample_image

    image = load_sample_image("flower.jpg").mean(axis=2)[100:300, 200:440]
    return image + 20 * np.random.default_rng(0).normal(size=image.shape), None


def vowels():
    """Utterances of nine speakers, of unequal length."""
    from aeon.datasets import load_japanese_vowels

    X, y = load_japanese_vowels()
    return [x.T for x in X], y


def gestures():
    """Movements of a hand with a gun or without, 150 steps each."""
    from aeon.datasets import load_gunpoint

    X, y = load_gunpoint()
    return X[:, 0], y


def power():
    """Power demand of days, 24 steps each, without labels."""
    from aeon.datasets import load_italy_power_demand

    return load_italy_power_demand()[0].transpose(0, 2, 1), None


def club():
    """Friendships in a karate club."""
    import networkx

    return networkx.to_scipy_sparse_array(networkx.karate_club_graph()), None


def economy():
    """Quarters of an economy in order."""
    from statsmodels.datasets import macrodata

    return macrodata.load_pandas().data.iloc[:, 2:], None


def sunspots():
    """Activity of the sun, one value per year."""
    from statsmodels.datasets import sunspots as data

    return data.load_pandas().data["SUNACTIVITY"].to_numpy(), None


def parties():
    """Voters, and the party that they identify with, in seven ordered steps."""
    import pandas as pd
    from statsmodels.datasets import anes96

    data = anes96.load_pandas().data
    return data.drop(columns="PID"), pd.Series(pd.Categorical(data["PID"], ordered=True))


def docstrings():
    """Documentation of the functions of scipy, as texts."""
    import scipy.linalg
    import scipy.stats

    texts = [
        inspect.getdoc(value)
        for module in (scipy.linalg, scipy.stats)
        for name, value in sorted(vars(module).items())
        if inspect.isfunction(value) and not name.startswith("_")
    ]
    return [text for text in texts if text and len(text) > 300], None


def brain():
    """Four channels of an electroencephalogram, 800 steps."""
    from matplotlib import cbook

    with cbook.get_sample_data("eeg.dat") as file:
        return np.frombuffer(file.read(), dtype=float).reshape(-1, 4), None


def functions():
    """Syntax trees of the functions of a module, in two classes: with a loop or without."""
    import argparse

    tree = ast.parse(inspect.getsource(argparse))
    trees = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    loops = (ast.For, ast.While)
    return trees, np.array([any(isinstance(n, loops) for n in ast.walk(t)) for t in trees])


def births():
    """Fertility of countries by year, with gaps."""
    from statsmodels.datasets import fertility

    data = fertility.load_pandas().data
    return data.loc[:, "1960":"2013"], None


def women():
    """Eighteen women, and the fourteen events that they attended."""
    from networkx.algorithms import bipartite
    from networkx.generators import davis_southern_women_graph

    graph = davis_southern_women_graph()
    return bipartite.biadjacency_matrix(graph, graph.graph["top"]).toarray(), None


REAL = {
    "breast cancer": Real(
        cancer,
        ("KernelDiscriminantAnalysis", "KernelGraphEmbedding"),
        "classes of a small table of real numbers: features that separate them",
    ),
    "wine": Real(
        wine,
        ("ClusteringStability", "KernelKMeans", "SammonMapping"),
        "a small table without labels: groups, or a map",
    ),
    "digits": Real(
        digits, ("SparseNMF", "SemiNMF", "ConvexNMF"), "non-negative, and parts can be read"
    ),
    "diabetes": Real(
        diabetes,
        ("PrincipalComponentsRegression", "KernelPLSRegression"),
        "columns that share causes, and a number to predict",
    ),
    "linnerud": Real(linnerud, ("RegularizedCCA", "KernelCCA"), "two views of the same men"),
    "peptides": Real(
        peptides, ("BlendedSpectrum", "GapWeighted", "SequenceFeatures"), "strings, classes"
    ),
    "names of languages": Real(
        names, ("SequenceFeatures", "BlendedSpectrum"), "the language of a word"
    ),
    "photograph": Real(photograph, ("DictionaryDenoiser",), "an image with noise"),
    "vowels": Real(vowels, ("DTWNeighborsClassifier",), "series of unequal length, classes"),
    "gestures": Real(
        gestures,
        ("DTWNeighborsClassifier", "GlobalAlignment"),
        "a series in each row, of unequal speed, classes",
    ),
    "power demand": Real(power, ("TimeSeriesKMeans",), "series without labels"),
    "karate club": Real(
        club, ("ExponentialDiffusion", "VonNeumann", "LaplacianEmbedding"), "nodes of a graph"
    ),
    "economy": Real(
        economy, ("SlowFeatureAnalysis",), "rows in order that move together, slowly"
    ),
    "sunspots": Real(sunspots, ("TimeDelayEmbedding",), "one series of a system"),
    "parties": Real(parties, ("NuSVOR", "KernelPRank"), "ordered classes"),
    "docstrings": Real(
        docstrings, ("ProbabilisticLSA", "LatentSemantic"), "documents: what are they about?"
    ),
    "brain": Real(brain, ("SlowFeatureAnalysis",), "fast signals in order"),
    "functions": Real(functions, ("AllSubtree",), "syntax trees"),
    "births": Real(births, ("NuclearNormImputer", "RobustPCA"), "a table with gaps"),
    "southern women": Real(
        women,
        (
            "MultiAssignmentClustering",
            "DiscreteBasis",
            "RoleMiner",
            "FormalConceptFactorization",
        ),
        "a Boolean table: groups of people and events that overlap",
    ),
}
