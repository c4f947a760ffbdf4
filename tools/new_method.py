"""Write the files of a new method, with evidence tests that fail until there is evidence.

python tools/new_method.py METHOD=KernelCCA MODULE=cross_decomposition
"""

import ast
import re
import sys
from pathlib import Path

from skmoderndata._estimator.registry import snake_case

ROOT = Path(__file__).resolve().parent.parent

ESTIMATOR = '''"""{title}."""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.compat import AT_LEAST_ONE, fit_context
from skmoderndata._estimator.doors import by_rows, parameters_are_named
from skmoderndata._estimator.registry import MethodCard


class {name}(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    r"""Objective or estimate, in one line.

    The objective with its scaling:

    .. math::
        \\min_W \\; f(W)

    Parameters
    ----------
    n_components : int, default=2
        Number of components.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        One component per row.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.PCA : The closest estimator of scikit-learn, and how this class differs.

    Notes
    -----
    Cost, failure modes, deviations from the paper.

    References
    ----------
    .. [1] Author, Journal, year, equation or algorithm number.

    Examples
    --------
    >>> from skmoderndata.{module} import {name}
    >>> {name}().n_components
    2
    """

    _card = MethodCard(family="{family}", cite=("author1900word",), cost="n p k")
    _parameter_constraints = {{"n_components": [AT_LEAST_ONE]}}

    @parameters_are_named
    def __init__(self, n_components=2):
        self.n_components = n_components

    @fit_context()
    def fit(self, X, y=None):
        """Estimate the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : {name}
            The fitted estimator.
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self.components_ = solve(X, self.n_components)
        return self

    @by_rows
    def transform(self, X):
        """Compute the coordinates of the rows of `X`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New data.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            One row per sample.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return X @ self.components_.T

    @property
    def _n_features_out(self):
        return len(self.components_)


def solve(X, k):
    """State the problem, its scaling and the algorithm with its number in the reference."""
    return np.eye(k, X.shape[1], dtype=X.dtype)
'''

TESTS = '''"""Evidence that {name} solves the problem it states."""

import pytest

from skmoderndata.{module} import {name}


@pytest.mark.oracle
def test_matches_independent_implementation(seed):
    raise AssertionError(f"compare {{{name}()}} with naive loops or a cvxpy statement")


@pytest.mark.certificate
def test_solution_is_optimal(seed):
    raise AssertionError("check the duality gap, the KKT residual or a monotone decrease")


@pytest.mark.recovery
def test_recovers_planted_truth(seed):
    raise AssertionError("recover what a generator of skmoderndata.datasets planted")


@pytest.mark.invariance
def test_invariance(seed):
    raise AssertionError("row order, rotation, scale, sign, label names")


@pytest.mark.edge
def test_edge_cases():
    raise AssertionError("one row, one column, constant columns, rank deficiency")
'''

PAGE = """# {title}

**Problem.** The problem in one sentence.

**Idea.** The idea in five lines.

```python
>>> from skmoderndata.{module} import {name}
>>> {name}().n_components
2

```

## When to use it, and when not

## Cost

## Pitfalls

## Special input

## Deviations from the source

## References
"""

EXAMPLE = '''"""
{underline}
{title}
{underline}

One question, and one figure that answers it, next to the closest scikit-learn estimator.
"""

# %%
import matplotlib.pyplot as plt

from skmoderndata.{module} import {name}

figure, axes = plt.subplots()
axes.set_title(repr({name}()))
plt.show()
'''

PROBLEM_NOTE = """Next:
  1. name the paper in the card and add its entry to docs/references.bib
  2. write the naive reference in tests/oracles/{stem}.py and the generator in datasets/
  3. give it an entry in benchmarks/compare/comparisons.py (problems/ contains the problems), and
     in tests/common/parameter_sets.py if the common tests should set parameters
  4. python tools/dev.py test tests/{module}/test_{stem}.py
"""


def main(arguments):
    """Write the files for `METHOD=Name MODULE=module`."""
    settings = dict(argument.partition("=")[::2] for argument in arguments)
    name = settings.get("METHOD", "")
    module = settings.get("MODULE", "")

    if not re.fullmatch(r"[A-Z][A-Za-z0-9]+", name) or not re.fullmatch(r"[a-z_]+", module):
        return "usage: make new METHOD=CamelCaseName MODULE=module_name"

    stem = snake_case(name)
    words = stem.replace("_", " ")
    values = {
        "name": name,
        "module": module,
        "stem": stem,
        "title": words.capitalize(),
        "family": words,
        "underline": "=" * len(words),
    }

    files = {
        f"skmoderndata/{module}/_{stem}.py": ESTIMATOR,
        f"tests/{module}/test_{stem}.py": TESTS,
        f"docs/methods/{stem}.md": PAGE,
        f"examples/plot_{stem}.py": EXAMPLE,
        f"docs/changes/{stem}.feature.md": "`{module}.{name}`: what it does, in one sentence.\n",
    }

    # do not overwrite files
    existing = [path for path in files if (ROOT / path).exists()]
    if existing:
        return f"These files exist already: {', '.join(existing)}."

    for path, template in files.items():
        target = ROOT / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(template.format(**values), encoding="utf-8")
        print(f"wrote {path}")

    register(ROOT / "skmoderndata" / module / "__init__.py", name, stem, module)
    print(PROBLEM_NOTE.format(**values))
    return 0


def register(path, name, stem, module):
    """Add the import line and the `__all__` entry, sorted."""
    if not path.exists():
        path.write_text(f'"""{module.replace("_", " ").capitalize()}."""\n\n__all__ = []\n')
    text = path.read_text(encoding="utf-8")
    body = ast.parse(text).body
    imports = [node for node in body if isinstance(node, ast.ImportFrom)]
    module_name = f"skmoderndata.{module}._{stem}"
    after = next((node.lineno for node in imports if node.module > module_name), None)
    listing = next(node for node in body if isinstance(node, ast.Assign))
    if after is None:  # below the imports, or above the list if there are none
        after = imports[-1].end_lineno + 1 if imports else listing.lineno
    lines = text.splitlines()
    names = sorted({*ast.literal_eval(listing.value), name})
    entries = [f'    "{entry}",' for entry in names]
    lines[listing.lineno - 1 : listing.end_lineno] = ["__all__ = [", *entries, "]"]
    line = f"from {module_name} import {name}"
    lines[after - 1 : after - 1] = [line] if imports else [line, ""]
    text = "\n".join(lines) + "\n"
    path.write_text(text, encoding="utf-8")
    print(f"edited {path.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
