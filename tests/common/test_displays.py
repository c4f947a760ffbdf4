"""Every display needs matplotlib only where it draws, and says so where it is missing."""

import importlib
import sys

import numpy as np
import pytest

from skmoderndata._estimator.registry import public_modules

SERIES = [np.zeros((3, 1))]
ARGUMENTS = {
    "AtomsDisplay": {"atoms": [[1.0, 2.0]]},
    "CanonicalLoadingsDisplay": dict.fromkeys(("loadings", "lower", "upper"), [[[0]]] * 2),
    "ClusterPrototypesDisplay": {"series": SERIES, "labels": [0], "centers": SERIES},
    "ClusteringStabilityDisplay": {
        "param_range": [2], "stability": [1.0], "standard_error": [0.1], "best_n_clusters": 2,
    },
    "ComponentsDisplay": {"components": [[0.6, 0.8]], "low": [[0.5, 0.7]], "high": [[0.7, 0.9]]},
    "CoreSetDisplay": {
        "points": [[0.0, 0.0], [1.0, 1.0]], "support": [0], "response": [[-1, 0], [0, 1]],
        "xx0": [[0, 1], [0, 1]], "xx1": [[0, 0], [1, 1]],
    },
    "EntrySearchDisplay": {"values": [2], "scores": [1.0], "standard_error": [0.1], "chosen": 2},
    "KnockoffDisplay": {"importances": [[1.0], [0.0]], "threshold": 1.0},
    "PhaseTransitionDisplay": {"delta": [0.5], "rho": [0.5], "success": [[1.0]]},
    "RobustPCADisplay": {"table": [[1.0]], "low_rank": [[1.0]], "errors": [[0.0]]},
    "RolesDisplay": {"components": [[1, 0]], "assignments": [[1], [0]]},
    "SlowSignalsDisplay": {"signals": [[1.0], [2.0], [4.0]]},
    "WarpingPathDisplay": {"costs": [[0.0]], "path": [[0, 0]]},
}  # fmt: skip


def displays():
    modules = [importlib.import_module(name) for name in public_modules()]
    return {
        name: getattr(module, name)
        for module in modules
        for name in module.__all__
        if name.endswith("Display")
    }


def test_every_display_is_tested_here():
    assert sorted(displays()) == sorted(ARGUMENTS)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_display_draws_and_names_missing_packages(name, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    display = displays()[name](**ARGUMENTS[name])
    assert not hasattr(display, "figure_")
    assert display.plot() is display
    first = getattr(display, "axes_", None)
    assert display.figure_ is (display.ax_ if first is None else first[0]).figure

    # draw on the axes of the caller
    given = {"ax": display.ax_} if first is None else {"axes": first}
    figure = display.figure_
    assert display.plot(**given).figure_ is figure
    plt.close("all")

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    message = rf"{name} needs matplotlib: pip install 'skmoderndata\[plot\]'"
    with pytest.raises(ImportError, match=message):
        display.plot()
