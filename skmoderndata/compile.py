"""Fill numba's cache, so that first calls need no compilation.

    python -m skmoderndata.compile              # every estimator, one or two minutes
    python -m skmoderndata.compile --jobs -1    # in as many processes as there are processors
    python -m skmoderndata.compile KSVD RobustPCA

Each estimator is fitted to small data of the kind that its card names, with its defaults, each
named option and each switch, and its outputs are computed. What is compiled stays in numba's
cache: beside the package, or in the folder named by `NUMBA_CACHE_DIR`. Meant for container images
and for machines that run tests.
"""

import argparse
import os
import sys
import warnings
from time import perf_counter

import joblib
import numpy as np
from sklearn.base import is_classifier

from skmoderndata._estimator.registry import all_estimators
from skmoderndata._solvers.common.jit import why_interpreted

OUTPUTS = ("transform", "predict", "decision_function", "score_samples")


def main(arguments=None):
    """Fit the named estimators, or all of them; the exit status is 0 when each was fitted."""
    # read the names of the estimators; an unknown name ends the program
    classes = {cls.__name__: cls for cls in all_estimators()}
    parser = argparse.ArgumentParser(
        prog="python -m skmoderndata.compile", description=__doc__
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="classes; none means all")
    parser.add_argument(
        "--jobs", type=int, default=1, help="number of processes; -1 means all processors"
    )
    options = parser.parse_args(arguments)
    reason = why_interpreted()
    if reason:
        parser.error(f"{reason}, so nothing can be compiled: pip install --upgrade numba")
    chosen = options.names or list(classes)
    unknown = sorted(set(chosen) - set(classes))
    if unknown:
        parser.error(f"no estimator is called {', '.join(unknown)}")

    # fit the estimators; collect failures instead of stopping at the first failure
    start = perf_counter()
    failed = []
    tasks = joblib.Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    done = tasks(joblib.delayed(_try)(classes[name]) for name in chosen)
    for number, (name, error) in enumerate(done):
        _bar(number, len(chosen), name)
        if error:
            failed.append(f"{name}: {error}")

    _bar(len(chosen), len(chosen), f"{perf_counter() - start:.0f} s")
    sys.stderr.write("\n" + "".join(f"not compiled: {line}\n" for line in failed))
    return int(bool(failed))


def _try(cls):
    """Return the name of a class, and why it could not be fitted, or an empty sentence."""
    try:
        warm(cls)
    except Exception as error:
        return cls.__name__, str(error) or type(error).__name__
    return cls.__name__, ""


def warm(cls):
    """Fit a class with its defaults, with each option and switch, and compute its outputs."""
    for parameters in named_options(cls) + switches(cls):
        try:
            _use(cls(**parameters))
        except (ImportError, ValueError):
            # an option may need another option, different data or an optional package
            if not parameters:
                raise


def named_options(cls):
    """Return the defaults and, one at a time, the texts that each parameter accepts.

    Kernels are left out, as they compile nothing.
    """
    default = cls().get_params()
    sets = [{}]
    for name, kinds in cls._parameter_constraints.items():
        if name != "kernel":
            values = {value for kind in kinds for value in getattr(kind, "options", ())}
            values.discard(default[name])
            sets += [{name: value} for value in sorted(values, key=str)]
    return sets


def switches(cls):
    """Return parameter sets that turn one switch on, or off if it is on by default."""
    default = cls().get_params()
    kinds = cls._parameter_constraints
    return [{name: not default[name]} for name in kinds if kinds[name] == ["boolean"]]


def _use(estimator):
    """Fit an estimator to small data, and compute its outputs."""
    X, y = small_data(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X, y)
        for output in OUTPUTS:
            if hasattr(estimator, output):
                getattr(estimator, output)(X)


def small_data(estimator, n=40, p=6):
    """Return small data that an estimator can be fitted to, and a target.

    Rows are a positive table with slow columns, or its kernel matrix.
    """
    tags = estimator.__sklearn_tags__()
    rng = np.random.default_rng(0)

    # make correlated columns, all of them positive
    X = rng.normal(size=(n, 3)).cumsum(axis=0) @ rng.normal(size=(3, p))
    X += 0.3 * rng.normal(size=(n, p))
    X += 0.1 - X.min()

    y = None
    if tags.target_tags.required:
        y = X[:, 0].copy()
        y = (y > np.median(y)).astype(int) if is_classifier(estimator) else y

    kind = estimator._card.samples
    lengths = 10 + np.arange(n) % 5
    if kind == "series":
        return [rng.normal(size=(length, 2)) for length in lengths], y
    if kind == "strings":
        return ["".join(rng.choice(list("abcd"), size=length)) for length in lengths], y
    if kind == "image":
        return rng.uniform(size=(n, n)), y
    return (X @ X.T if tags.input_tags.pairwise else X), y


def _bar(done, total, label):
    width = 30
    filled = width * done // total
    line = f"[{'#' * filled}{'.' * (width - filled)}] {done}/{total} {label}"
    sys.stderr.write(f"\r{line:<79}" if sys.stderr.isatty() else f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    # silence messages, because the progress bar shows more; worker processes inherit the variable
    os.environ["SKMODERNDATA_QUIET"] = "1"
    sys.exit(main())
