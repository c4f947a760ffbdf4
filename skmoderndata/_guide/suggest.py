"""Which method for my data: rows of `choose.toml` whose conditions fit what the data show."""

import ast
import functools
import importlib
import importlib.resources
import re
import sys
import tomllib
from typing import Any, NamedTuple

from skmoderndata._estimator.base import DOCUMENTATION
from skmoderndata._estimator.registry import method_stem, public_homes
from skmoderndata._guide.data_facts import DataFacts, data_facts, phrases

N_SUGGESTIONS = 3
FROM_SKLEARN = {
    "CountVectorizer": "sklearn.feature_extraction.text",
    "KMeans": "sklearn.cluster",
    "PCA": "sklearn.decomposition",
    "SGDClassifier": "sklearn.linear_model",
    "SVC": "sklearn.svm",
    "SVR": "sklearn.svm",
    "make_pipeline": "sklearn.pipeline",
}


class Suggestion(NamedTuple):
    """A method for the data.

    Attributes
    ----------
    names : tuple of str
        Classes of this package, the first one first.
    problem : str
        What they are for.
    reason : str
        What the data show that speaks for them; "" if it is only near.
    code : str
        Lines to paste, for data called X and y.
    page : str
        Address of the page of the first class.
    sklearn : str
        The nearest way with scikit-learn, and when to stay with it.
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
        What decided.
    """

    facts: DataFacts

    def __repr__(self) -> str:
        return f"<{len(self)} suggestions: {', '.join(one.names[0] for one in self)}>"

    def __str__(self) -> str:
        return "\n\n".join(_told(i, one) for i, one in enumerate(self, start=1))


def suggest(X: Any, y: Any = None, *, about: str | None = None) -> Suggestions:
    """Print the three methods of this package that fit the data best, and scikit-learn's way.

    Looks at some of the rows: their kind, shape, gaps, values and order, and at y. Nothing is
    fitted. What the data do not show, `about` can tell.

    Parameters
    ----------
    X : table, series, strings, trees, graphs, sets, or list of tables
        Samples as estimators and kernels take them: arrays, data frames, sparse matrices, Dask
        arrays and memory maps; lists of strings, of symbols, of series, of trees, graphs or sets;
        a list of views of the same samples; a film or an image.
    y : array-like of shape (n_samples,), default=None
        Classes, an ordered categorical of ranks, or numbers.
    about : str, default=None
        Words for the task, such as "false alarm" or "compress": problems that they name go first.

    Returns
    -------
    suggestions : Suggestions
        A tuple of at most three `Suggestion`, the best one first, with `names`, `problem`,
        `reason`, `code`, `page` and `sklearn`; and `facts`, what the data show.

    Raises
    ------
    TypeError
        If X is no collection of samples, y no list or array, or `about` no text.
    ValueError
        If X is empty, has columns without numbers only, all cells NaN or an infinite one, or if
        y has another length or gaps.

    See Also
    --------
    skmoderndata.all_estimators : All classes.

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
    wanted = _words(about or "")
    fits = [_fit(row, facts, wanted) for row in problems()]
    best = sorted((fit for fit in fits if fit.counts), key=lambda fit: fit.score, reverse=True)

    found = Suggestions(_suggestion(fit, facts) for fit in best[:N_SUGGESTIONS])
    found.facts = facts
    if wanted and not any(fit.counts and fit.score[1] for fit in fits):
        sys.stdout.write(f"No problem of data of kind {facts.kind!r} names {about!r}.\n\n")
    sys.stdout.write(f"{found}\n")
    return found


class Fit(NamedTuple):
    """How a row of the knowledge fits."""

    row: dict[str, Any]
    matched: list[str]  # conditions that hold
    complete: bool
    counts: bool  # whether the kind of data is right
    score: tuple[Any, ...]


def _fit(row: dict[str, Any], facts: DataFacts, wanted: set[str]) -> Fit:
    """Count the conditions of a row that hold; of two sets of them those that fit better."""
    texts = [row["problem"], row["task"], *row["synonyms"], *row["take"]]
    n_named = len(wanted & _words(" ".join(texts)))
    fits = []
    for when in [row["when"], *([row["or"]] if "or" in row else [])]:
        matched = [name for name in when if _holds(facts, name, when[name])]
        complete = len(matched) == len(when)
        counts = "kind" in matched or (facts.kind == "objects" and n_named > 0)

        # what was named, what fits as a whole, what fits most closely
        closeness = (
            len(matched) + row.get("weight", 0) if complete else len(matched) / len(when)
        )
        fits.append(
            Fit(row, matched, complete, counts, (counts, n_named, complete, closeness))
        )
    return max(fits, key=lambda fit: fit.score)


@functools.cache
def knowledge() -> dict[str, Any]:
    """Return what `choose.toml` says."""
    text = importlib.resources.files("skmoderndata._guide").joinpath("choose.toml")
    return tomllib.loads(text.read_text(encoding="utf-8"))


def problems() -> list[dict[str, Any]]:
    """Rows of all sections, in the order of the page."""
    return [row for section in knowledge()["section"] for row in section["rows"]]


def imports_of(code: str) -> list[str]:
    """Lines that import what the code names."""
    homes = public_homes() | FROM_SKLEARN
    names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    homes = {name: homes[name] for name in names if name in homes}
    return [
        f"from {home} import {', '.join(sorted(name for name in homes if homes[name] == home))}"
        for home in sorted(set(homes.values()))
    ]


def _holds(facts: DataFacts, name: str, condition: Any) -> bool:
    """Whether a fact is in a range of two numbers, among some words, or as told."""
    fact = getattr(facts, name)
    if isinstance(condition, list) and not isinstance(condition[0], str):
        return fact is not None and condition[0] <= fact <= condition[1]
    return fact in condition if isinstance(condition, list) else fact == condition


def _words(text: str) -> set[str]:
    """Beginnings of the words of a text, without the shortest."""
    return {word[:6] for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def _suggestion(fit: Fit, facts: DataFacts) -> Suggestion:
    """Tell a row, with the facts that speak for it."""
    row = fit.row
    said = dict(phrases(facts))
    name = row["take"][0]
    cls = getattr(importlib.import_module(public_homes()[name]), name)
    page = f"methods/{method_stem(cls)}"
    if not hasattr(cls, "_card"):
        page = f"generated/api/{cls.__module__.rpartition('.')[0]}.{cls.__name__}"
    return Suggestion(
        names=tuple(row["take"]),
        problem=row["problem"],
        reason="; ".join(said[name] for name in fit.matched) if fit.complete else "",
        code="\n".join([*imports_of(row["line"]), row["line"]]),
        page=f"{DOCUMENTATION}/{page}.html",
        sklearn=row["stay"],
    )


def _told(number: int, one: Suggestion) -> str:
    why = one.reason or "nothing speaks for it but the kind of data"
    lines = [
        f"{number}. {', '.join(one.names)}: {one.problem}",
        f"   why: {why}",
        *(f"   >>> {line}" for line in one.code.splitlines()),
        f"   page: {one.page}",
        f"   scikit-learn: {one.sklearn}",
    ]
    return "\n".join(lines)
