"""Shared fixtures; `TEST_SEEDS=all` runs every seeded test with twenty seeds."""

import os

from tests.common.newest import leave_out_newest

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before scikit-learn: else one check is skipped
os.environ.setdefault("MPLBACKEND", "Agg")


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize(
            "seed", range(20) if os.environ.get("TEST_SEEDS") == "all" else [0]
        )


def pytest_collection_modifyitems(config, items):
    leave_out_newest(items)
    if "slow" not in config.getoption("-m"):
        deselected = [item for item in items if item.get_closest_marker("slow")]
        if deselected:
            config.hook.pytest_deselected(items=deselected)
            items[:] = [item for item in items if not item.get_closest_marker("slow")]
