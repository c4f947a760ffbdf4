"""One page about a table: findings that deserve a look, and the lines to run next."""

import sys
from collections.abc import Iterator
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from skmoderndata._guide import report_parts as parts
from skmoderndata._guide.report_page import document, fragment
from skmoderndata._guide.report_parts import MIN_ROWS, Finding
from skmoderndata._guide.report_pictures import svg
from skmoderndata._guide.report_table import Table, read_table

PARTS = ["gaps", "scales", "components", "cells", "drift", "redundant columns", "roles"]
# Number of parts that share the significance level of the page.
N_PARTS = len(PARTS)
# Minimum significance level; smaller levels need more than 140,000 permutations.
MIN_LEVEL = 1e-4


class Report:
    """Page about a table, returned by `report`.

    A notebook displays it; `save` writes it to a file.

    Attributes
    ----------
    findings : tuple of Finding
        Findings, each with `name`, `title`, `text`, `columns` and `lines` of its table, and
        `code` to run next.
    level : float
        Probability of finding anything in a table of pure noise.
    """

    def __init__(self, table: Table, findings: list[Finding], level: float) -> None:
        if table.kind == "list":
            findings = [
                finding._replace(code=f"import numpy as np\n{finding.code}")
                for finding in findings
            ]
        self.findings = tuple(findings)
        self.level = level
        self._facts = _facts(table, findings, level)
        pictures = {finding.name: svg(finding.draw, finding.name) for finding in findings}
        if findings and not all(pictures.values()):
            self._facts["notes"].append(
                "There are no pictures, because matplotlib is not installed: "
                'pip install "skmoderndata[plot]" adds them.'
            )
        self._html = fragment(self._facts, findings, pictures)

    def __repr__(self) -> str:
        names = ", ".join(finding.name for finding in self.findings) or "nothing found"
        return f"<{self._facts['title']}: {names}; level {self.level:g}>"

    def _repr_html_(self) -> str:
        return self._html

    def save(self, path: Any) -> None:
        """Write the page to an HTML file, which needs no other file.

        Parameters
        ----------
        path : str or path-like
            File to write.
        """
        Path(path).write_text(document(self._facts["title"], self._html), encoding="utf-8")


def report(X: Any, *, level: float = 0.01, random_state: int = 0) -> Report:
    """Test a table for common problems and return one page with all significant findings.

    The page has a section for each finding: gaps and their pattern, columns of very different
    scale, the number of components, broken cells and odd rows, drift over the rows, groups of
    redundant columns, and Boolean columns that occur together as roles do. Each section has a
    picture, a table, and the lines to run next.

    Parameters
    ----------
    X : DataFrame of pandas or polars, or array-like of shape (n_samples, n_features)
        Table; NaN and nulls are gaps. Columns without numbers are skipped and named.
    level : float, default=0.01
        Probability of finding anything in a table of pure noise, divided equally among the seven
        parts. Gaps are counted at any level.
    random_state : int, default=0
        Seed for the sample of rows, the permutations and the hidden cells.

    Returns
    -------
    report : Report
        The page: a notebook displays it, ``save(path)`` writes it to a file, and `findings`
        contains its sections.

    Raises
    ------
    TypeError
        If X is not a table in memory, such as a Dask array or a sparse matrix.
    ValueError
        If X is empty, has no column of numbers or no known cell, or has an infinite cell.

    See Also
    --------
    skmoderndata.suggest : Suggests methods for the data, in three lines each.

    Notes
    -----
    A table of more than 10,000 rows or 500,000 cells is replaced by a random sample of its rows,
    and more than 300 columns by a random sample of columns; the page says so. Pictures need
    matplotlib.

    Examples
    --------
    >>> import numpy as np
    >>> import skmoderndata
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> skmoderndata.report(X)
    <Report on 200 rows and 4 columns: nothing found; level 0.01>
    >>> X[:, 3] = X[:, 0] + 0.01 * rng.normal(size=200)
    >>> page = skmoderndata.report(X)
    >>> [finding.name for finding in page.findings]
    ['redundant columns']
    """
    if not isinstance(level, Real) or not MIN_LEVEL <= level < 1:
        raise ValueError(f"level={level!r} should be a number from {MIN_LEVEL} to below 1.")
    if not isinstance(random_state, Integral) or random_state < 0:
        raise ValueError(f"random_state={random_state!r} should be an integer of at least 0.")
    table = read_table(X, int(random_state))
    findings = [part for part in _found(table, level / N_PARTS, int(random_state)) if part]
    return Report(table, findings, float(level))


def _found(table: Table, level: float, random_state: int) -> Iterator[Finding | None]:
    """Look for each part in turn, and show it in a terminal."""
    enough = len(table.values) >= MIN_ROWS
    _say("components")
    fit = parts.fit_robustly(table, level) if enough else None
    components = parts.find_components(table, fit, level, random_state)
    _say("gaps")
    yield parts.find_gaps(table, level, low_rank=components is not None)
    if enough:
        yield parts.find_scales(table, level)
        yield components
        yield parts.find_cells(table, fit, level)
        _say("drift")
        yield parts.find_drift(table, level, random_state)
        yield parts.find_redundant(table, level)
        _say("roles")
        yield parts.find_roles(table, level)
    _say("")


def _say(what: str) -> None:
    """Show the current part in a terminal; an empty word removes the line."""
    if sys.stderr is not None and sys.stderr.isatty():
        line = f"report: looking for {what} ..." if what else ""
        sys.stderr.write(f"\r{line:<60}\r")
        sys.stderr.flush()


def _facts(table: Table, findings: list[Finding], level: float) -> dict[str, Any]:
    """Return the title, the notes and the parts without findings."""
    n, p = table.shape
    rows, columns = table.values.shape
    notes = [
        f"Tests at level {level:g} for the whole page, {level / N_PARTS:.2g} for each of "
        f"{N_PARTS} parts: for a table of pure noise, the page is empty in all but {level:.2%} of "
        "the cases."
    ]

    # Note the rows and columns that were skipped
    if rows < n:
        notes.append(f"The page uses a random sample of {rows:,} of the {n:,} rows.")
    if columns < p - len(table.others):
        notes.append(
            f"The page uses a random sample of {columns:,} of the {p - len(table.others):,} "
            "columns of numbers."
        )
    if table.others:
        names = ", ".join(table.others[:5]) + (", ..." if table.others[5:] else "")
        notes.append(f"Skipped columns without numbers: {names}.")
    if rows < MIN_ROWS:
        notes.append(f"With fewer than {MIN_ROWS} rows, the page covers only gaps.")

    # List the parts that found nothing
    found = {finding.name for finding in findings}
    names = ["gaps"] if rows < MIN_ROWS else PARTS
    absent = ", ".join(name for name in names if name not in found)
    title = f"Report on {n:,} row{'s' * (n > 1)} and {p:,} column{'s' * (p > 1)}"
    return {
        "title": title,
        "notes": notes,
        "absent": f"{absent[:1].upper()}{absent[1:]}." if absent else "",
    }
