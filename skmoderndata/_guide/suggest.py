"""Choice of a method: rows of `choose.toml` whose conditions fit the facts of the data."""

import ast
import functools
import importlib
import importlib.resources
import re
import sys
import tomllib
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._estimator.base import DOCUMENTATION
from skmoderndata._estimator.registry import method_stem, public_homes
from skmoderndata._guide.cells import numeric_columns
from skmoderndata._guide.data_facts import (
    DataFacts,
    data_facts,
    is_frame,
    phrases,
)
from skmoderndata._solvers.common.blocks import is_dask

# Maximum number of suggestions.
N_SUGGESTIONS = 3
# Minimum ratio of the scales of columns at which the code includes a scaler.
SCALES_DIFFER = 10.0
# Conditions that may fail if the caller has named the problem.
EVIDENCE = {
    "broken",
    "columns",
    "in_order",
    "missing",
    "redundant",
    "rows",
    "wide",
    "zeros",
}
HOMES = {
    "CountVectorizer": "sklearn.feature_extraction.text",
    "KMeans": "sklearn.cluster",
    "RobustScaler": "sklearn.preprocessing",
    "SGDClassifier": "sklearn.linear_model",
    "SGDRegressor": "sklearn.linear_model",
    "SVC": "sklearn.svm",
    "SVR": "sklearn.svm",
    "SimpleImputer": "sklearn.impute",
    "make_pipeline": "sklearn.pipeline",
}


class Suggestion(NamedTuple):
    """A method for the data.

    Attributes
    ----------
    names : tuple of str
        Classes of this package, the best one first.
    problem : str
        Problem that the classes solve.
    reason : str
        Facts of the data that speak for the classes.
    code : str
        Lines to paste, for data named X and y.
    page : str
        Address of the page of the first class.
    sklearn : str
        The closest scikit-learn solution, and when it is enough.
    """

    names: tuple[str, ...]
    problem: str
    reason: str
    code: str
    page: str
    sklearn: str


class Suggestions(tuple[Suggestion, ...]):
    """What `suggest` returns: a tuple of suggestions, with the facts of the data.

    Attributes
    ----------
    facts : DataFacts
        Facts on which the suggestions are based.
    """

    facts: DataFacts

    def __repr__(self) -> str:
        names = ", ".join(suggestion.names[0] for suggestion in self)
        return f"<{len(self)} suggestions: {names}>"

    def __str__(self) -> str:
        return "\n\n".join(_printed(i, entry) for i, entry in enumerate(self, start=1))


def suggest(X: Any, y: Any = None, *, about: str | None = None) -> Suggestions:
    """Print up to three methods of this package that suit the data, and scikit-learn's way.

    The suggestions depend on the kind, shape, gaps, values and order of some of the rows, and on
    y. Nothing is fitted. Use `about` for what the data do not show.

    Parameters
    ----------
    X : table, series, strings, graphs, sets, or list of tables
        Samples in a form that estimators and kernels accept: arrays, data frames, sparse matrices,
        Dask arrays and data frames, memory maps; lists of strings, of series (1-D or 2-D arrays),
        of graphs of networkx, of syntax trees or sets; a list of tables of the same samples; a
        film or an image. For samples of other types, such as nested tuples, name the kind in
        `about`.
    y : array-like of shape (n_samples,), default=None
        Classes, ranks (an ordered categorical, or whole numbers from 1), or numbers.
    about : str, default=None
        Words for the task, such as "outliers" or "compress": problems that they name come first.

    Returns
    -------
    suggestions : Suggestions
        A tuple of up to three `Suggestion`, the best one first, with `names`, `problem`, `reason`,
        `code`, `page` and `sklearn`; its attribute `facts` holds the facts of the data.

    Raises
    ------
    TypeError
        If X is not a collection of samples, or its samples have an unknown type and there is no
        `about`; if y is not a list or array; if `about` is not a text.
    ValueError
        If X is empty, has only columns without numbers, only NaN, or an infinite cell; if y has a
        different length or gaps.

    See Also
    --------
    skmoderndata.all_estimators : Lists all classes.

    Examples
    --------
    >>> import skmoderndata
    >>> found = skmoderndata.suggest(["abcab", "bcabc", "cabca"], ["x", "y", "y"])
    1. BlendedSpectrum, GapWeighted, KernelTransformer: Strings of events, two classes
       why: strings; y has classes
       ...
    >>> found[0].names[0]
    'BlendedSpectrum'
    """
    if not isinstance(about, str | None):
        raise TypeError(f"about={about!r} should be words, such as 'compress', or None.")
    facts = data_facts(X, y)
    if facts.kind == "objects" and not about:
        raise TypeError(
            "suggest does not recognise the samples of X, the first of which is of type "
            f"{type(_first_of(X)).__name__}: say what they are, for example about='trees' or "
            "about='graphs'."
        )

    # Put the named problems first, then the problems that fit most closely
    named = _words(about or "")
    fits = [_fit(row, facts, named) for row in problems()]
    best = sorted((fit for fit in fits if fit.score), key=lambda fit: fit.score, reverse=True)
    able = [fit for fit in best if _is_able(fit.row, facts, X, y)][:N_SUGGESTIONS]

    found = Suggestions(_suggestion(fit, facts, X, y) for fit in able)
    found.facts = facts
    if named and not any(fit.score[0] for fit in able):
        sys.stdout.write(f"No problem for data of kind {facts.kind!r} mentions {about!r}.\n\n")
    nothing = (
        "Nothing in these data speaks for a method of this package: start with scikit-learn, or "
        "describe the task with about=."
    )
    sys.stdout.write(f"{found if found else nothing}\n")
    return found


def _first_of(X: Any) -> Any:
    return next(iter(X[X.columns[0]] if is_frame(X) else X))


# Choose the rows of the knowledge that fit the data


class Fit(NamedTuple):
    """Fit of a row of the knowledge to the data."""

    row: dict[str, Any]
    reasons: list[str]  # conditions that the data satisfy
    score: tuple[float, ...]  # () if the row does not apply


def _fit(row: dict[str, Any], facts: DataFacts, named: set[str]) -> Fit:
    """Count the conditions of a row that hold, and the words that name it."""
    texts = [row["problem"], row["task"], *row["synonyms"], *row["take"]]
    n_named = len(named & _words(" ".join(texts)))
    best = Fit(row, [], ())
    for when in row["when"]:
        conditions = {name: when[name] for name in when if name in DataFacts._fields}
        if facts.kind == "objects":  # only the caller knows what the objects are
            conditions = (
                {"kind": facts.kind, "y": conditions.get("y", facts.y)}
                if n_named
                else conditions
            )
        held = [name for name, value in conditions.items() if _holds(facts, name, value)]
        complete = len(held) == len(conditions)
        possible = complete or (n_named and conditions.keys() - held <= EVIDENCE)
        if possible and (n_named or not when.get("asked")):
            score = (n_named, complete, len(held) + when.get("weight", 0))
            best = max(best, Fit(row, held, score), key=lambda fit: fit.score)
    return best


def _holds(facts: DataFacts, name: str, condition: Any) -> bool:
    """Return whether a fact is in a range of two numbers, among words, or as required."""
    fact = getattr(facts, name)
    if isinstance(condition, list) and not isinstance(condition[0], str):
        return fact is not None and bool(condition[0] <= fact <= condition[1])
    return fact in condition if isinstance(condition, list) else bool(fact == condition)


def _words(text: str) -> set[str]:
    """Return the beginnings of the words of a text, without short words."""
    return {word[:6] for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def _is_able(row: dict[str, Any], facts: DataFacts, X: Any, y: Any) -> bool:
    """Return whether the first class is not a textbook class and accepts X and y."""
    accepts = accepts_of(row["take"][0])
    is_table = facts.kind == "table"
    return (
        accepts.tier != "textbook"
        and (accepts.blocks or not (is_table and is_dask(X)))
        and (
            (accepts.sparse and "Search" not in row["line"])
            or not (is_table and sparse.issparse(X))
        )
        and (accepts.gaps or "<" in row["line"] or facts.missing == 0)
        and (accepts.outputs or np.ndim(y) < 2 or np.shape(y)[1] == 1)
    )


class Accepts(NamedTuple):
    """Properties of a class, from its card and its tags."""

    tier: str
    instead: str  # advice to use another class instead, or an empty string
    blocks: bool  # Dask arrays
    sparse: bool  # sparse matrices
    gaps: bool  # NaN
    outputs: bool  # y with several columns


@functools.cache
def accepts_of(name: str) -> Accepts:
    """Read the card and tags of a class; a search has no card, and a kernel no tags."""
    cls = class_of(name)
    card = getattr(cls, "_card", None)
    if card is None:
        return Accepts("core", "", blocks=False, sparse=False, gaps=True, outputs=False)
    if not hasattr(cls, "fit"):
        return Accepts(
            card.tier, card.instead, blocks=False, sparse=False, gaps=False, outputs=False
        )
    tags = cls().__sklearn_tags__()
    return Accepts(
        card.tier,
        card.instead,
        blocks=card.fits_blocks,
        sparse=tags.input_tags.sparse,
        gaps=tags.input_tags.allow_nan,
        outputs=tags.target_tags.multi_output,
    )


def class_of(name: str) -> Any:
    """Return the class of this package with this name."""
    return getattr(importlib.import_module(public_homes()[name]), name)


@functools.cache
def knowledge() -> dict[str, Any]:
    """Return the contents of `choose.toml`."""
    text = importlib.resources.files("skmoderndata._guide").joinpath("choose.toml")
    return tomllib.loads(text.read_text(encoding="utf-8"))


def problems() -> list[dict[str, Any]]:
    """Return the rows of all sections, in the order of the page."""
    return [row for section in knowledge()["section"] for row in section["rows"]]


# Write the lines to paste


def imports_of(code: str) -> list[str]:
    """Return the lines that import the names in the code."""
    names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    modules = {"np": "import numpy as np", "networkx": "import networkx"}
    lines = [line for name, line in modules.items() if name in names]

    homes = public_homes() | HOMES
    by_home: dict[str, list[str]] = {}
    for name in sorted(names & homes.keys()):
        by_home.setdefault(homes[name], []).append(name)
    return lines + [
        f"from {home} import {', '.join(by_home[home])}" for home in sorted(by_home)
    ]


def code_for(row: dict[str, Any], facts: DataFacts, X: Any, y: Any) -> str:
    """Return the line of a row with imports, preparations of X and y, scaler and imputer."""
    line = row.get("alone", row["line"]) if facts.y in ("none", "one class") else row["line"]
    if facts.y == "numbers":
        line = re.sub(r"\bSVC\(", "SVR(", line).replace("Classifier(", "Regressor(")
    lines = _preparation(facts, X, y)

    # Insert the preparing steps before the estimator, which angle brackets mark
    inside = re.search(r"<(.*)>", line)
    if inside:
        steps = []
        if facts.missing > 0 and not accepts_of(row["take"][0]).gaps:
            steps.append('SimpleImputer(strategy="median")')
        if facts.scale_ratio > SCALES_DIFFER:
            if is_dask(X):
                lines.append("X = (X - X.mean(axis=0)) / X.std(axis=0)")
            else:
                steps.append(f"RobustScaler({'with_centering=False' * sparse.issparse(X)})")
        estimator = inside[1]
        if steps:
            estimator = f"make_pipeline({', '.join([*steps, estimator])})"
        line = line.replace(inside[0], estimator).replace("{last}", "[-1]" if steps else "")
    code = "\n".join([*lines, line])
    return "\n".join([*imports_of(code), code])


def _preparation(facts: DataFacts, X: Any, y: Any) -> list[str]:
    """Return the lines that convert X and y to a form that the classes accept."""
    lines = []
    # Prepare tables, and single columns
    if is_frame(X):
        lines += _columns_only(X, facts)
    if isinstance(X, np.ma.MaskedArray):
        lines.append("X = X.astype(float).filled(np.nan)")
    if facts.kind == "table" and is_dask(X) and not is_frame(X) and np.isnan(X.shape[0]):
        lines.append("X = X.compute_chunk_sizes()")
    if facts.kind in ("strings", "texts") and not isinstance(X, list | np.ndarray):
        column = f'X["{X.columns[0]}"]' if is_frame(X) else "X"
        lines = [f"X = list({column})"]

    # Prepare lists, series and graphs
    if is_dask(X) and facts.kind in ("series", "film", "image"):
        lines.append("X = X.compute()")
    if facts.kind == "one series":
        lines.append("X = np.asarray(X, dtype=float).reshape(-1, 1)")
    if facts.kind == "table" and isinstance(X, list):
        lines.append("X = np.asarray(X, dtype=float)")
    if facts.channels_first:
        lines.append("X = [x.T for x in X]  # from (channels, time) to (time, channels)")
    if facts.kind == "one graph" and hasattr(X, "nodes"):
        lines.append("X = networkx.to_scipy_sparse_array(X.to_undirected())")
    if facts.kind == "graphs" and any("label" not in x.nodes[node] for x in X for node in x):
        lines.append('[networkx.set_node_attributes(x, dict(x.degree), "label") for x in X]')

    # Prepare targets: Dask cannot split arrays of objects
    if np.ndim(y) == 2 and np.shape(y)[1] == 1:
        lines.append("y = np.ravel(y)")
    elif is_dask(X) and y is not None and not is_dask(y) and np.asarray(y).dtype == object:
        lines.append("y = np.asarray(y).astype(str)")
    return lines


def _columns_only(X: Any, facts: DataFacts) -> list[str]:
    """Return the line that drops the columns without numbers."""
    names = [X.columns[position] for position in numeric_columns(X)]
    if len(names) == len(X.columns) or facts.kind in ("strings", "texts"):
        return []
    types = ["number", "bool"]
    if hasattr(X, "select_dtypes") and list(X.select_dtypes(types).columns) == names:
        return ['X = X.select_dtypes(["number", "bool"])']
    return [f"X = X[{names!r}]"]


def _suggestion(fit: Fit, facts: DataFacts, X: Any, y: Any) -> Suggestion:
    """Describe a row, with the facts that speak for it."""
    row = fit.row
    texts = phrases(facts)
    reasons = [texts[name] for name in fit.reasons if getattr(facts, name)]
    if fit.score[0]:
        reasons.insert(0, "you named it")
    names = tuple(name for name in row["take"] if accepts_of(name).tier != "textbook")
    cls = class_of(names[0])
    page = f"methods/{method_stem(cls)}"
    if not hasattr(cls, "_card"):
        page = f"generated/api/{cls.__module__.rpartition('.')[0]}.{cls.__name__}"
    return Suggestion(
        names=names,
        problem=row["problem"],
        reason="; ".join(reasons),
        code=code_for(row, facts, X, y),
        page=f"{DOCUMENTATION}/{page}.html",
        sklearn=". ".join(filter(None, [row["stay"], accepts_of(names[0]).instead])),
    )


def _printed(number: int, suggestion: Suggestion) -> str:
    lines = [
        f"{number}. {', '.join(suggestion.names)}: {suggestion.problem}",
        f"   why: {suggestion.reason}",
        *(f"   >>> {line}" for line in suggestion.code.splitlines()),
        f"   page: {suggestion.page}",
        f"   scikit-learn: {suggestion.sklearn}",
    ]
    return "\n".join(lines)
