"""Shared fixtures; `TEST_SEEDS=all` runs every seeded test with twenty seeds.

Estimators with `random_state=None` draw from NumPy's global state, which each test starts with
the seed `TEST_GLOBAL_SEED` (0).

`TEST_WITHOUT="numba highspy"` runs the tests as if these packages were not installed.
"""

import gc
import os
import re
import sys

import numpy as np
import pytest

from tests.common import tier
from tests.common.newest import leave_out_newest

# this must be set before scikit-learn is imported; otherwise one check is skipped
os.environ.setdefault("SCIPY_ARRAY_API", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
for missing in os.environ.get("TEST_WITHOUT", "").split():
    sys.modules[missing] = None

# Seed of NumPy's global state at the start of each test.
GLOBAL_SEED = int(os.environ.get("TEST_GLOBAL_SEED", "0"))
# Key of the pytest cache that holds the ids of the last default run.
BY_DEFAULT = "tiers/default"


def pytest_addoption(parser):
    parser.addoption(
        "--beyond-default",
        action="store_true",
        help="with -m: leave out the tests of the last run without -m",
    )


def pytest_configure(config):
    tier.choose(config)


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize(
            "seed", range(20) if os.environ.get("TEST_SEEDS") == "all" else [0]
        )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Start NumPy's global state anew, so that a test gives the same result in each run."""
    np.random.seed(GLOBAL_SEED)  # noqa: NPY002 (the state that scikit-learn uses)


def pytest_collection_modifyitems(config, items):
    """Leave out the tiers `full` and `slow` unless `-m` names them, and most of many cases."""
    leave_out_newest(items)
    chosen = config.getoption("-m")
    left_out = {"full", "slow"} if not chosen else {"slow"} - set(re.findall(r"\w+", chosen))
    deselected = [item for item in items if left_out & {m.name for m in item.iter_markers()}]
    if not chosen:
        deselected += beyond_the_few(items)
    if config.getoption("--beyond-default"):
        already_run = set(config.cache.get(BY_DEFAULT, []))
        deselected += [item for item in items if item.nodeid in already_run]

    if deselected:
        config.hook.pytest_deselected(items=deselected)
        dropped = set(map(id, deselected))
        items[:] = [item for item in items if id(item) not in dropped]


def beyond_the_few(items):
    """Return the cases that the default tier leaves out of tests marked `few(n)`.

    The n cases that stay are evenly spaced: the first and the last are among them.
    """
    cases = {}
    for item in items:
        if item.get_closest_marker("few"):
            cases.setdefault(item.nodeid.split("[")[0], []).append(item)

    left_out = []
    for same in cases.values():
        (n,) = same[0].get_closest_marker("few").args
        kept = {round(i * (len(same) - 1) / max(n - 1, 1)) for i in range(n)}
        left_out += [item for i, item in enumerate(same) if i not in kept]
    return left_out


def pytest_collection_finish(session):
    """Remember what runs by default, and exempt the tests from garbage collection.

    Each full collection would visit all of them.
    """
    config = session.config
    worker = getattr(config, "workerinput", {"workerid": "gw0"})["workerid"]
    runs_by_default = not (config.getoption("-m") or config.getoption("--collect-only"))
    if worker == "gw0" and runs_by_default and hasattr(config, "cache"):
        config.cache.set(BY_DEFAULT, [item.nodeid for item in session.items])

    gc.collect()
    gc.freeze()
