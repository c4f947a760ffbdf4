"""The families of `python -m benchmarks.race`: tables, contenders, and when a peer is equal."""

from benchmarks.race import factors, groups, machines

FAMILIES = {**groups.FAMILIES, **factors.FAMILIES, **machines.FAMILIES}
