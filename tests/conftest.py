"""Shared fixtures; `TEST_SEEDS=all` runs every seeded test with twenty seeds."""

import gc
import os
import re

from tests.common import tier
from tests.common.newest import leave_out_newest

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before scikit-learn: else one check is skipped
os.environ.setdefault("MPLBACKEND", "Agg")


def pytest_configure(config):
    tier.choose(config)


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize(
            "seed", range(20) if os.environ.get("TEST_SEEDS") == "all" else [0]
        )


def pytest_collection_modifyitems(config, items):
    """Leave out the tiers `full` and `slow` unless `-m` names them."""
    leave_out_newest(items)
    chosen = config.getoption("-m")
    left_out = {"full", "slow"} if not chosen else {"slow"} - set(re.findall(r"\w+", chosen))
    deselected = [item for item in items if left_out & {m.name for m in item.iter_markers()}]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        dropped = set(map(id, deselected))
        items[:] = [item for item in items if id(item) not in dropped]


def pytest_collection_finish():
    """Exempt the collected tests from garbage collection, which would visit them all each time."""
    gc.collect()
    gc.freeze()
