"""Reproductions of published tables and figures: the printed value next to ours.

`python -m benchmarks.papers` runs every file here whose name does not begin with an underscore;
each file contains an `ENTRY`. Every value says where it was read, or that it is quoted from
memory.
"""

from benchmarks.papers._entry import OWN_TARGET, PRINTED, THEORY, Entry, Value, value
from benchmarks.peers.discover import find


def find_entries():
    """Map the name of every publication in `benchmarks/papers/` to its `ENTRY`."""
    return find("benchmarks.papers", "ENTRY")


__all__ = ["PRINTED", "OWN_TARGET", "THEORY", "Entry", "Value", "find_entries", "value"]
