"""Look for jumps in time: `python -m benchmarks.steps [NAME ...]`.

Every class with `solver="auto"` is fitted, with defaults, to samples whose number grows by 7 %. A
size at which the time rises or falls by more than `LARGEST` is measured again, and printed if the
jump persists. The search of a class ends as soon as a fit takes longer than `LONGEST` seconds.
"""

import argparse
import sys
import warnings
from time import perf_counter

import numpy as np
from sklearn.base import is_classifier
from sklearn.datasets import make_classification

from skmoderndata import all_estimators

GROWTH = 1.07
# Largest acceptable ratio of the times of neighbouring sizes.
LARGEST = 3.0
# Maximum number of seconds of a fit.
LONGEST = 4.0
# Minimum number of seconds at which a ratio is more than noise.
SHORTEST = 0.01
SIZES = np.unique((300 * GROWTH ** np.arange(63)).astype(int))
TWO_VIEWS = {"KernelCCA"}


def main(arguments=None):
    """Print the jumps of each class; the exit status is 0 if there is none."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.steps", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="classes; none means all")
    parser.add_argument("--every", type=int, default=1, help="take every so many sizes")
    options = parser.parse_args(arguments)

    n_steps = 0
    for cls in all_estimators():
        if options.names and cls.__name__ not in options.names:
            continue
        if cls().get_params().get("solver") != "auto" or cls._card.samples != "rows":
            continue
        found, largest, ratio = steps_of(cls, SIZES[:: options.every])
        n_steps += len(found)
        print(f"{cls.__name__:32s} to {largest:6d}, ratio {ratio:4.1f}", *found, flush=True)
    return int(n_steps > 0)


def steps_of(cls, sizes):
    """Steps of a class, the largest size that was timed, and the largest ratio of neighbours."""
    found = []
    largest = 1.0
    before = None
    for n in sizes:
        time = fit_time(cls, n)
        if before is not None:
            ratio = ratio_of(time, before[1])
            if ratio > LARGEST:  # measure again, because timings fluctuate
                time = min(time, fit_time(cls, n))
                earlier = fit_time(cls, before[0])
                ratio = ratio_of(time, min(earlier, before[1]))
            largest = max(largest, ratio)
            if ratio > LARGEST:
                found.append(f"[{before[0]}: {before[1]:.3f} s, {n}: {time:.3f} s]")
        before = n, time
        if time > LONGEST:
            break
    return found, before[0], largest


def ratio_of(time, other):
    """Ratio of two times, the larger one over the smaller one."""
    low, high = sorted((max(time, SHORTEST), max(other, SHORTEST)))
    return high / low


def fit_time(cls, n):
    """Seconds of a fit with defaults to n samples; of two short fits, the second one."""
    X, labels = make_classification(n, 10, n_informative=6, flip_y=0.05, random_state=0)
    model = cls()
    y = labels if is_classifier(model) else np.sin(X[:, 0]) + 0.3 * X[:, 1]
    if cls.__name__ in TWO_VIEWS:
        X, y = X[:, :5], X[:, 5:]
    elif cls.__name__ == "CoreVectorRanker":
        y = np.digitize(y, [-0.5, 0.5])
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while not times or (len(times) < 2 and times[0] < 1):
            start = perf_counter()
            model.fit(X, y)
            times.append(perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
