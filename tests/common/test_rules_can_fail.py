"""A test of the tests: every house rule fails on an example made to break it."""

import pytest
from sklearn.base import BaseEstimator

from benchmarks.compare.comparison import Comparison
from skmoderndata._estimator.registry import KernelCard, MethodCard
from tests.common import rules

BROKEN_SOURCES = [
    (rules.prints, "print('hello')"),
    (rules.relative_imports, "from . import linalg"),
    (rules.private_sklearn_imports, "from sklearn.base import _fit_context"),
    (rules.private_sklearn_imports, "from sklearn.utils._param_validation import Interval"),
    (rules.private_sklearn_imports, "from sklearn.callback import ProgressBar"),
    (rules.eager_heavy_imports, "import cvxpy as cp"),
    (rules.eager_heavy_imports, "from numba import njit"),
    (rules.eager_heavy_imports, "import matplotlib.pyplot as plt"),
    (rules.dropped_comparisons, "np.allclose(a, b)"),
    (rules.dropped_comparisons, "def test():\n    a == b"),
    (rules.fast_math, "numba.njit(fastmath=True)(f)"),
    (rules.figures_of_other_blocks, "fig, axes = plt.subplots(2)\n# %%\naxes[1].plot(x)"),
    (rules.fast_math, "numba.njit(parallel=True)(f)"),
    (rules.other_words_for_results, "class R(NamedTuple):\n    n_iter: int\n    done: bool"),
    (rules.other_words_for_results, "class R(NamedTuple):\n    gap: float\n    n_passes: int"),
    (rules.switched_off_tests, "def test():\n    pytest.skip('later')"),
    (rules.switched_off_tests, "@pytest.mark.xfail\ndef test(): ..."),
    (rules.too_little_evidence, "@pytest.mark.edge\n@pytest.mark.oracle\ndef test(): ..."),
    (rules.private_names_across_files, "from skmoderndata._kernelized.gram import _dense"),
    (rules.broken_loops, "def f():\n    for _ in it:\n        if done:\n            break"),
    (
        rules.broken_loops,
        "def f():\n    p = Iterations(3, 0.0)\n    for _ in p:\n        try:\n"
        "            g()\n        except ValueError:\n            break",
    ),
    (rules.oversized, "def f(a, b, c, d, e, f, g, h, i, j, k, m, *, n): ..."),
    (rules.oversized, "def f():\n" + "    x = 1\n" * 60),
    (rules.oversized, "x = 1\n" * 601),
    (rules.hidden_divergence, "norm = max(0.0, w @ g)"),
    (rules.hidden_divergence, "def f():\n    gap = max(primal - dual, 0.0) / primal"),
    (
        rules.hidden_divergence,
        "def f():\n    over = max(p - d, 0.0)\n    it.residual = over / p",
    ),
    (rules.hidden_divergence, "def f():\n    return Result(w, dual_gap=np.maximum(p - d, 0))"),
    (
        rules.hidden_divergence,
        "def duality_gap(p, d):\n    return p, float(max(p - d, 0) / p)",
    ),
    (
        rules.hidden_divergence,
        "def f():\n    step = max(a - b, 0.0)\n    if step <= tol:\n        g()",
    ),
    (rules.bare_words, "read('/home/somebody/data.csv')"),
]


@pytest.mark.parametrize(("rule", "source"), BROKEN_SOURCES)
def test_rule_fails_on_broken_source(rule, source):
    assert rule(source) != []


GOOD_SOURCE = """
import numpy as np
from sklearn.base import BaseEstimator


def fit(X):
    import cvxpy as cp

    assert np.allclose(X, X)
    norm = max(w @ X @ w, 0.0)
    gap = relative_gap(norm + np.maximum(X, 0.0).sum(), max(bound, 0.0))
    return cp.sum(X)
"""


@pytest.mark.parametrize("rule", sorted({rule for rule, _ in BROKEN_SOURCES}, key=repr))
def test_rule_passes_on_good_source(rule):
    if rule is rules.too_little_evidence:
        marks = "".join(f"@pytest.mark.{kind}\n" for kind in rules.EVIDENCE)
        assert rule(marks + "def test(): ...") == []
        # these tests are not in the default tier
        for tier in ("full", "slow"):
            assert rule(marks + f"@pytest.mark.{tier}\ndef test(): ...") != []
    else:
        assert rule(GOOD_SOURCE) == []


@pytest.mark.parametrize(
    ("source", "own_module"),
    [
        ("from skmoderndata.decomposition import RobustPCA", "_solvers"),
        ("from skmoderndata.svm import CoreVectorMachine", "decomposition"),
        ("from skmoderndata.decomposition._ksvd import KSVD", "decomposition"),
        ("import skmoderndata.cluster", "kernels"),
        ("from skmoderndata import decomposition", "datasets"),
        ("from skmoderndata._kernelized.gram import Gram", "kernels"),
        ("from skmoderndata.kernels._base import show", "_samples"),
        ("from skmoderndata._samples.keys import Key", "_solvers"),
    ],
)
def test_upward_imports_are_seen(source, own_module):
    assert rules.upward_imports(source, own_module) != []


@pytest.mark.parametrize(
    ("folder", "target"), [("codes", "recovery"), ("margins", "kernel"), ("common", "codes")]
)
def test_solvers_that_climb_are_seen(folder, target):
    source = f"from skmoderndata._solvers.{target}.files import solve"
    assert rules.solver_imports(source, folder) != []
    assert rules.solver_imports(source, target) == []
    assert (
        rules.solver_imports("from skmoderndata._solvers.common.linalg import l1", folder)
        == []
    )


@pytest.mark.parametrize(
    ("wing", "target"),
    [("_strings", "_graphs"), ("_base", "_sets"), ("_series", "_gram_cache")],
)
def test_wings_that_lean_on_others_are_seen(wing, target):
    assert rules.wing_imports(f"from skmoderndata.kernels.{target}.files import f", wing) != []
    assert rules.wing_imports(f"from skmoderndata.kernels import {target}", wing) != []
    assert (
        rules.wing_imports(f"from skmoderndata.kernels.{target}.files import f", target) == []
    )
    assert rules.wing_imports("from skmoderndata._samples.trees import plant", wing) == []


def test_crowded_folders_are_seen(tmp_path):
    for i in range(rules.MOST_FILES_IN_FOLDER):
        (tmp_path / f"file_{i}.py").touch()
    (tmp_path / "__init__.py").touch()
    assert rules.crowded(tmp_path) == []
    (tmp_path / "one_more.py").touch()
    assert rules.crowded(tmp_path) != []


def test_cycles_are_seen():
    a = "skmoderndata._solvers.codes.a"
    b = "skmoderndata._solvers.codes.b"
    sources = {a: f"from {b} import f", b: "import numpy"}
    assert rules.import_cycles(sources) == []
    assert rules.import_cycles({**sources, b: f"def g():\n    from {a} import h"}) != []


def test_siblings_share_a_base_only():
    base = "from skmoderndata.svm._base import solve"
    assert rules.upward_imports(base, "svm") == []
    assert rules.upward_imports(base, "cluster") != []
    named = "from skmoderndata.decomposition._nmf_base import decode"
    assert rules.upward_imports(named, "decomposition") == []
    assert rules.upward_imports(named, "image") != []
    sibling = "from skmoderndata.decomposition._ksvd import KSVD"
    assert rules.upward_imports(sibling, "decomposition") != []


def test_downward_imports_are_allowed():
    source = "from skmoderndata._solvers.common.linalg import fix_signs\nimport skmoderndata"
    assert rules.upward_imports(source, "decomposition") == []
    assert (
        rules.upward_imports("from skmoderndata._solvers.common.jit import jit", "_solvers")
        == []
    )


class Careless(BaseEstimator):
    """Summary.

    Parameters
    ----------
    alpha : float, default=2.0
        Documented with the wrong default.
    gone : int, default=1
        No such parameter.
    """

    _card = MethodCard(
        family="none",
        cite=("nobody1900nothing",),
        cost="n",
    )

    def __init__(self, alpha=1.0, beta=None):
        self.alpha = alpha
        self.beta = beta

    def fit(self, X):
        return self


def test_wrong_defaults_are_seen():
    broken = rules.wrong_defaults(Careless)
    assert any(line.startswith("alpha: documented 2.0, real 1.0") for line in broken)
    assert "beta: not documented" in broken
    assert "gone: documented but not a parameter" in broken


def test_wrong_defaults_of_functions_are_seen():
    def careless(X, *, alpha=1.0, beta=None):
        """Do nothing.

        Parameters
        ----------
        X : array
            Rows.
        alpha : float, default=2.0
            Documented with the wrong default.
        beta : float, optional
            Without a default.
        """

    assert rules.wrong_defaults(careless) == [
        "alpha: documented 2.0, real 1.0",
        "beta: no `default=` in the docstring",
    ]


def test_missing_sections_and_docstrings_are_seen():
    assert "no section References" in rules.missing_sections(Careless)
    assert rules.undocumented_methods(Careless) == ["fit: no docstring"]


def test_kernels_without_twin_are_seen():
    class Strange(Careless):
        """A kernel."""

        _card = KernelCard(family="none", cite=("a",), cost="n", domain="any")

    assert rules.missing_twin(Strange, {"Other": None})[0].startswith("no twin")
    assert rules.missing_twin(Strange, {"Strange": None}) == []
    assert rules.missing_twin(Careless, {}) == []
    assert "no section Attributes" not in rules.missing_sections(Strange)
    assert "no section Notes" in rules.missing_sections(Strange)


def test_broken_promises_are_seen(tmp_path):
    Careless.__module__ = "skmoderndata.decomposition._careless"
    broken = "\n".join(rules.broken_promises(Careless, root=tmp_path))
    for missing in (
        "docs/methods/careless.md",
        "examples/plot_careless.py",
        "nobody1900nothing",
        "tests/decomposition/test_careless.py",
    ):
        assert missing in broken


def test_broken_tables_are_seen(tmp_path):
    nowhere = Comparison(baseline="PCA", problem="nowhere", grid={}, baseline_grid={})
    tables = rules.Tables(
        parameter_sets={"Gone": ({"alpha": 1.0},), "Careless": ({},)},
        known_failures={"Careless": {"check_x": "no"}},
        comparisons={"Careless": nowhere},
        no_comparison={"Careless": "nobody"},
    )
    assert rules.broken_tables(tables, [Careless], tmp_path) == [
        "parameter_sets: no class Gone",
        "parameter_sets: not sorted by name",
        "Careless: no parameter set, or only the defaults",
        "Careless: check_x carries no reason",
        "Careless: check_x does not say what fails for a user: 'In use: ...'",
        "Careless: missing benchmarks/compare/problems/nowhere.py",
        "Careless: a comparison, and a reason why there is none",
        "Careless: the reason why nothing compares is no sentence",
    ]
