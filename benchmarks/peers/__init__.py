"""Speed and quality against the best software for the same work, measured in one run.

`python -m benchmarks.peers` runs every case of `benchmarks/peers/cases/`; a case is one file that
contains a `CASE`: the work, the contenders, and the definition of quality.
"""

from benchmarks.peers.case import Case, Contender, Target, at_least, at_most, none_faster
from benchmarks.peers.discover import find_cases
from benchmarks.peers.runner import Row, run_case

__all__ = [
    "Case",
    "Contender",
    "Row",
    "Target",
    "at_least",
    "at_most",
    "find_cases",
    "none_faster",
    "run_case",
]
