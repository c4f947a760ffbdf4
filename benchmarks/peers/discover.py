"""Find cases and entries by file name: adding one requires no change to a list."""

import importlib
import pkgutil


def find(package_name, attribute):
    """Map the name of every public module of a package to the object it holds."""
    package = importlib.import_module(package_name)
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    return {
        name: getattr(importlib.import_module(f"{package_name}.{name}"), attribute)
        for name in names
        if not name.startswith("_")
    }


def find_cases():
    """Map the name of every file in `benchmarks/peers/cases/` to its `CASE`."""
    return find("benchmarks.peers.cases", "CASE")
