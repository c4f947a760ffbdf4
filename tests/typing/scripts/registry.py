"""List estimators and kernels by name."""

import skmoderndata


def names() -> list[str]:
    return [cls.__name__ for cls in skmoderndata.all_estimators()]


version: str = skmoderndata.__version__
found: bool = "RobustPCA" in names()
