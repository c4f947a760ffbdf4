"""Tests that need the newest scikit-learn, and what happens to them with an older one."""

import importlib.util

import pytest


def leave_out_newest(items):
    """Skip the tests marked `newest` where scikit-learn has no callbacks, which came with 1.9."""
    if importlib.util.find_spec("sklearn.callback") is None:
        for item in items:
            if item.get_closest_marker("newest"):
                item.add_marker(pytest.mark.skip(reason="needs scikit-learn 1.9"))
