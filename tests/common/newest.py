"""Tests that need the newest scikit-learn, which are skipped with an older one."""

import importlib.util

import pytest

# Pages whose examples use callbacks.
PAGES = ("progress.md",)


def leave_out_newest(items):
    """Skip tests marked `newest` if scikit-learn has no callbacks, which came with 1.9."""
    if importlib.util.find_spec("sklearn.callback") is None:
        for item in items:
            if item.get_closest_marker("newest") or item.path.name in PAGES:
                item.add_marker(pytest.mark.skip(reason="needs scikit-learn 1.9"))
