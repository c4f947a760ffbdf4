"""Every estimator with a kernel accepts samples that are not vectors, in every container."""

import importlib.util
from pathlib import Path

import pytest

from skmoderndata._estimator.registry import all_estimators

PATH = (
    Path(__file__).resolve().parents[2] / "docs" / "_ext" / "skmoderndata_site" / "machines.py"
)
SPEC = importlib.util.spec_from_file_location("machines", PATH)
table = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(table)

MACHINES = table.machines()


@pytest.mark.few(20)
@pytest.mark.invariance
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.name)
def test_predictions_do_not_depend_on_the_container(machine):
    assert table.check(machine) == list(table.containers(["a"]))


def test_every_estimator_with_a_kernel_is_tested():
    names = {machine.name for machine in MACHINES} | table.OTHERS
    with_kernel = {
        cls.__name__ for cls in all_estimators() if "kernel" in cls._parameter_constraints
    }
    assert with_kernel - names == set()
