"""Time to import the package, in fresh processes."""

import json
import os
import subprocess
import sys
from statistics import median
from typing import NamedTuple

from benchmarks.peers import Case, Contender, Target

HEAVY = ("cvxpy", "numba", "matplotlib")
PROGRAM = """
import json, sys, time
start = time.perf_counter()
import {module}
seconds = time.perf_counter() - start
print(json.dumps([seconds, [name for name in {heavy} if name in sys.modules]]))
"""


class Imported(NamedTuple):
    """Report of the fresh process."""

    seconds: float
    heavy: list


def importing(module):
    """Return a contender function that imports `module` in a fresh process."""

    def run(_):
        program = PROGRAM.format(module=module, heavy=HEAVY)
        told = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        )
        return Imported(*json.loads(told.stdout))

    return run


def quality(_, imported):
    return {"heavy modules": ", ".join(imported.heavy) or "none"}


def _within(ours, base):
    """Check of a target: at most 1.1 times as long as the base plus 30 ms."""

    def check(rows):
        seconds = {row.contender: median(row.seconds) for row in rows if row.seconds}
        if not {ours, base} <= set(seconds):
            return None, "not measured"
        extra = 1000 * (seconds[ours] - 1.1 * seconds[base])
        return extra <= 30, f"{extra:.0f} ms beyond 1.1 times"

    return check


CASE = Case(
    title="Import time",
    question="How much does `import skmoderndata` add to `import sklearn.base`?",
    remarks=(
        "Each process times its own import; the files are already in the cache of the operating "
        "system."
    ),
    ours="skmoderndata.decomposition",
    sizes={"fresh process": None},
    quick_sizes={"fresh process": None},
    warmup=None,
    work=lambda size, rng: None,
    contenders={
        "skmoderndata": Contender(
            run=importing("skmoderndata"),
            peer=False,
            note="this package; modules load on first use",
        ),
        "sklearn.base": Contender(
            run=importing("sklearn.base"),
            requires="scikit-learn>=1.9",
            note="the import that every scikit-learn estimator needs",
        ),
        "sklearn.decomposition": Contender(
            run=importing("sklearn.decomposition"),
            requires="scikit-learn>=1.9",
            note="one module of scikit-learn, for reference",
        ),
        "skmoderndata.decomposition": Contender(
            run=importing("skmoderndata.decomposition"),
            peer=False,
            note="one module of this package, for reference",
        ),
    },
    quality=quality,
    figures={"heavy modules": f"which of {', '.join(HEAVY[:-1])} and {HEAVY[-1]} were loaded"},
    seconds=lambda imported: imported.seconds,
    targets=(
        Target(
            text=(
                "`import skmoderndata` takes at most 1.1 times as long as `import "
                "sklearn.base` plus 30 ms"
            ),
            check=_within("skmoderndata", "sklearn.base"),
        ),
        Target(
            text="`import skmoderndata.decomposition` takes at most 1.1 times as long as "
            "`import sklearn.decomposition` plus 30 ms",
            check=_within("skmoderndata.decomposition", "sklearn.decomposition"),
        ),
    ),
    repeat=15,
)
