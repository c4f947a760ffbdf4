"""Time the first use of each class with an empty cache: `python -m benchmarks.first_call`.

Each parameter set of the common tests is used in a process of its own whose `NUMBA_CACHE_DIR` is
an empty folder: import, `fit` (or `fit_transform`, if there is one), then `transform`, `predict`
and the other outputs, and `score`. The processor time of the whole process counts. A second
process with the filled cache shows how long later processes take.

With `--options` every value of every named option follows (except kernels, which compile nothing),
each also with groups and with missing entries if the estimator accepts them, and every switch;
the slowest of each estimator is measured again and shown.
"""

import argparse
import os
import pickle
import platform
import statistics
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from skmoderndata import all_estimators
from skmoderndata.compile import named_options, small_data, switches
from tests.common.parameter_sets import parameter_sets

PAGES = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"
# Maximum processor time of a first use, in seconds.
LIMITS = {"defaults": 5.0, "options": 12.0}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
FIRST_USE = """
import contextlib, pickle, warnings
warnings.simplefilter("ignore")
from skmoderndata import all_estimators
from skmoderndata.compile import OUTPUTS, small_data
cls = next(cls for cls in all_estimators() if cls.__name__ == "{name}")
model = cls(**pickle.loads({parameters}))
X, y = small_data(model)
if {missing}:
    X[::7, ::3] = float("nan")
getattr(model, "fit_transform", model.fit)(X, y)
for output in (*OUTPUTS, "predict_proba"):
    if hasattr(model, output):
        getattr(model, output)(X)
if hasattr(model, "score"):
    with contextlib.suppress(TypeError, ValueError):  # needs a truth that the data lack
        model.score(X, y)
"""


def main(arguments=None):
    """Measure, print and, on request, write the page; the exit status is 0 within the limits."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.first_call", description=__doc__
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="classes; none means all")
    parser.add_argument(
        "--defaults", action="store_true", help="the first parameter set of each class only"
    )
    parser.add_argument(
        "--options", action="store_true", help="every named option, switch, groups and missing"
    )

    parser.add_argument("--repeat", type=int, default=1, help="rounds; the median is shown")
    parser.add_argument(
        "--jobs", type=int, default=1, help="number of processes that are timed at once"
    )
    parser.add_argument("--write-docs", action="store_true", help="write the page")
    options = parser.parse_args(arguments)

    tasks = []
    tried = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for cls in all_estimators():
            if options.names and cls.__name__ not in options.names:
                continue

            # collect sets of parameters that fit small data
            sets = [(parameters, False) for parameters in parameter_sets(cls)]
            if options.options:
                sets += [given for given in option_sets(cls) if given not in sets]
            sets = [given for given in sets if small_data(cls(**given[0]))[0] is not None]
            sets = sets[: 1 if options.defaults else None]

            # Find the slowest set in a single round, and measure only this set in full.
            if options.options and sets:
                tried += len(sets)
                once = list(
                    pool.map(lambda given, cls=cls: measure(cls.__name__, *given, 1), sets)
                )
                sets = [sets[once.index(max(once))]]

            tasks += [(cls, *given, options.repeat) for given in sets]
        rows = list(pool.map(lambda task: _row(*task), tasks))

    beyond = [row for row in rows if row[2] > limit(*row[:2])]
    print(f"{max(tried, len(rows))} first calls, {len(beyond)} beyond their limit")

    if options.write_docs:
        given = "".join(
            f" --{name}" for name in ("defaults", "options") if vars(options)[name]
        )
        given += f" --repeat {options.repeat}" + f" --jobs {options.jobs}" * (options.jobs > 1)
        name = "first_call_options.md" if options.options else "first_call.md"
        (PAGES / name).write_text(page(rows, options.repeat, given, tried), encoding="utf-8")

    return int(bool(beyond))


def _row(cls, parameters, missing, repeat):
    """Time one set of parameters: name, parameters as shown, seconds of first and later calls."""
    rounds = [measure(cls.__name__, parameters, missing) for _ in range(repeat)]
    first, later = (statistics.median(times) for times in zip(*rounds, strict=True))
    shown = _shown(parameters, missing)
    print(f"{first:6.1f} s {later:6.1f} s  {cls.__name__}({shown})", flush=True)
    return cls.__name__, shown, first, later


def _shown(parameters, missing=False):
    """Parameters as the page shows them."""
    named = [f"{key}={value!r}" for key, value in parameters.items()]
    return ", ".join(named + ["missing entries"] * missing)


def option_sets(cls):
    """Pairs of parameters and whether entries are missing, if the class accepts the pair."""
    constraints = cls._parameter_constraints
    named = named_options(cls)
    given = [(option, False) for option in named + switches(cls)]
    if "groups" in constraints:
        for groups in ([0, 0, 1, 1, 2, 2] * 2, [0, 0, 1, 1, 2, 2]):
            given += [({**option, "groups": groups}, False) for option in named]
    if cls().__sklearn_tags__().input_tags.allow_nan:
        given += [(option, True) for option in named]
    return [some for some in given if _is_taken(cls, *some)]


def _is_taken(cls, parameters, missing):
    """Whether the class accepts the parameters, and missing entries with them."""
    estimator = cls(**parameters)
    X, y = small_data(estimator)
    if missing:
        X[::7, ::3] = float("nan")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.fit(X, y)
    except ValueError:
        return False
    return True


def measure(name, parameters, missing=False, n_calls=2):
    """Processor time of a process with an empty cache, and of the next one, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        env = {
            **os.environ,
            **ONE_THREAD,
            "NUMBA_CACHE_DIR": folder,
            "SKMODERNDATA_QUIET": "1",
        }
        code = FIRST_USE.format(
            name=name, parameters=pickle.dumps(dict(parameters)), missing=missing
        )
        return [_processor_time([sys.executable, "-c", code], env) for _ in range(n_calls)]


def _processor_time(command, env):
    """Return the processor time of a process in seconds, user and system."""
    process = subprocess.Popen(command, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime


def limit(name, shown):
    """Seconds that a first call may take; the first parameter set counts as default."""
    firsts = {cls.__name__: _shown(parameter_sets(cls)[0]) for cls in all_estimators()}
    return LIMITS["defaults" if shown in ("", firsts[name]) else "options"]


LATER = """\
Apart from importing scikit-learn, a later process spends two fifths of its time
on importing numba. It spends nearly all of the rest on registering numba's own functions,
which numba does before it opens the first file of the cache. Neither step can be avoided.
Reading and linking compiled functions takes 0.01 to 0.05 s. Methods whose two times are equal
have no compiled code. Other programs that run at the same time also increase the processor
time.
"""


def page(rows, repeat, given, tried=0):
    """Text of the page; `rows` are the slowest of `tried` sets of parameters, if not 0."""
    which = f"Out of {tried} sets of parameters, the slowest of each estimator is shown. "
    lines = [
        "# First calls with any option" if tried else "# First calls",
        "",
        "How much processor time does the first use of a class take if the cache of numba is",
        "empty? The first use covers the start of Python, the import, `fit`, `transform` or",
        "`predict`, and `score`. And how much time does it take later, with a filled cache? The",
        "data have 40 rows.",
        f"{which if tried else ''}"
        f"The limit is {LIMITS['defaults']:g} s with default parameters or the first parameter "
        f"set of the common tests, and {LIMITS['options']:g} s with other parameters.",
        "",
        "| estimator | parameters | first (s) | later (s) | within the limit |",
        "|---|---|---|---|---|",
    ]

    for name, shown, first, later in rows:
        within = "yes" if first <= limit(name, shown) else "**no**"
        shown = f"`{shown}`" if shown else "defaults"
        lines.append(f"| {name} | {shown} | {first:.1f} | {later:.1f} | {within} |")

    lines += [
        "",
        *LATER.splitlines(),
        "",
        "## How this was measured",
        "",
        "```bash",
        f"python -m benchmarks.first_call{given} --write-docs",
        "```",
        "",
        f"The times are medians over {repeat} round{'s' * (repeat != 1)}, with one BLAS thread "
        f"and Python {platform.python_version()} on {os.cpu_count()} cores. These are seconds on "
        "one machine, not ratios,",
        "because they show how long a new user waits.",
        "",
    ]

    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
