"""Brute-force twins of the kernels: one number from two samples, by the definition.

Every module in `tests/oracles` whose name ends in `_twins` adds a dict `TWINS` from class names
to `Twin`s; the contract test of the kernels and the house rules go through all of them.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Twin:
    """What the contract test needs to know of a kernel class.

    Attributes
    ----------
    make : callable
        `make()` returns kernels with different parameters.
    pair : callable
        `pair(kernel, x, z)` is the value for two samples, by the definition, in plain loops.
    samples : callable
        `samples(rng, n)` draws a collection of samples.
    tuned : callable or None
        `tuned()` returns kernels with bounds on every tunable parameter; None if there are none.
    """

    make: Callable[[], list[Any]]
    pair: Callable[[Any, Any, Any], float]
    samples: Callable[[Any, int], Any]
    tuned: Callable[[], list[Any]] | None = None


def all_twins():
    """Twins of all kernels by class name."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*_twins.py")):
        module = importlib.import_module(f"tests.oracles.{path.stem}")
        found |= getattr(module, "TWINS", {})
    return found
