"""The table of defaults has a place for every class, and its protocols run."""

import pytest

from benchmarks import defaults, steps
from skmoderndata import all_estimators
from skmoderndata.decomposition import CCIPCA
from skmoderndata.discriminant_analysis import KernelDiscriminantAnalysis
from skmoderndata.svm import L2SVC


@pytest.mark.parametrize("cls", all_estimators(), ids=lambda cls: cls.__name__)
def test_every_class_has_a_closest_estimator_and_tables_or_a_reason(cls):
    if cls.__name__ in defaults.ELSEWHERE:
        return
    closest = defaults.closest_to(cls)
    assert type(closest).__module__.startswith("sklearn.")
    protocol, tables = defaults.protocol_of(cls, cls(), closest)
    assert callable(protocol)
    assert tables


def test_reasons_and_exceptions_name_classes():
    names = {cls.__name__ for cls in all_estimators()}
    assert {*defaults.REASONS, *defaults.ELSEWHERE, *defaults.CLOSEST} <= names


@pytest.mark.parametrize("cls", [CCIPCA, L2SVC])
def test_scores_of_useful_methods_are_high(monkeypatch, cls):
    monkeypatch.setattr(defaults, "MOST_ROWS", 150)
    name, _closest, *scores, _ = defaults.measure(cls)
    assert name == cls.__name__
    assert all(0.5 < score <= 1 for score in scores)


def test_finds_a_step_but_not_a_smooth_course(monkeypatch):
    times = {300: 0.1, 321: 0.11, 343: 0.5, 367: 0.5}
    monkeypatch.setattr(steps, "fit_time", lambda cls, n: times[n])
    found, largest, ratio = steps.steps_of(KernelDiscriminantAnalysis, list(times))
    assert found == ["[321: 0.110 s, 343: 0.500 s]"]
    assert largest == 367
    assert ratio > 4
