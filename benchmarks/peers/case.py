"""The declarative half: the parts of a case."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One way of doing the work.

    Attributes
    ----------
    run : callable
        The timed part: `run(data)`, or `run(prepared)` when there is a `prepare`.
    Requirement of the package that does it ("pyrpca>=1.0"); a contender whose package is absent is
    listed as not installed.
    note : str
        One line for the reader: the algorithm, and every setting that is not the default.
    prepare : callable or None
        Untimed step before `run`.
    sizes : tuple of str or None
        Sizes that it runs at; None for all. `why_not` says why it is left out of the others.
    peer : bool
        False for variants of this package and for references implemented in the case.
    """

    run: Callable[[Any], Any]
    requires: str = ""
    note: str = ""
    prepare: Callable[[Any], Any] | None = None
    sizes: tuple[str, ...] | None = None
    why_not: str = ""
    peer: bool = True


@dataclass(frozen=True, kw_only=True)
class Target:
    """A target: `check(rows)` gives (reached, measured value).

    `reached` is None if the rows cannot show it (contender absent, size not run).
    """

    text: str
    check: Callable[[list], tuple[bool | None, str]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One piece of work and all contenders that can do it.

    Attributes
    ----------
    title, question : str
        Heading and first sentence of the page in the docs.
    ours : str
        The contender whose time is the unit of all other times.
    sizes, quick_sizes : mapping of str to object
        Argument of `work`, by the label that appears in the table.
    warmup : object
        Size of the untimed first call of every contender (imports, compilation, caches).
    work : callable
        `work(size, rng)` builds the data.
    contenders : mapping of str to callable or Contender
        In the order of the table.
    quality : callable
        `quality(data, result)` gives the figures of a result, computed outside of the timing.
    figures : mapping of str to str
        Meaning of each figure of `quality`.
    seconds : callable or None
        `seconds(result)` when the contender measures itself (fresh processes).
    memory_unit : tuple of (str, callable) or None
        Name of the unit in which peak memory is written, and its bytes given the data; None when
        peak memory is not measured.
    targets : tuple of Target
        Targets.
    excluded : mapping of str to str
        Peers that were tried and left out, with the reason.
    remarks : str
        Everything that the reader must know before reading the table.
    repeat : int
        Timed rounds.
    """

    title: str
    question: str
    ours: str
    sizes: Mapping[str, Any]
    quick_sizes: Mapping[str, Any]
    warmup: Any
    work: Callable[[Any, Any], Any]
    contenders: Mapping[str, Callable[[Any], Any] | Contender]
    quality: Callable[[Any, Any], Mapping[str, Any]]
    figures: Mapping[str, str] = field(default_factory=dict)
    seconds: Callable[[Any], float] | None = None
    memory_unit: tuple[str, Callable[[Any], float]] | None = None
    targets: tuple[Target, ...] = ()
    excluded: Mapping[str, str] = field(default_factory=dict)
    remarks: str = ""
    repeat: int = 5

    def __post_init__(self):
        contenders = {
            name: entry if isinstance(entry, Contender) else Contender(run=entry)
            for name, entry in self.contenders.items()
        }
        object.__setattr__(self, "contenders", contenders)
        if self.ours not in contenders:
            raise ValueError(
                f"ours={self.ours!r} is not among the contenders {list(contenders)}"
            )


def at_most(text, contender, figure, limit, *, sizes=None):
    """Target: a figure of one contender stays at or below `limit` at every size."""
    return Target(text=text, check=_bound(contender, figure, limit, sizes, largest=True))


def at_least(text, contender, figure, limit, *, sizes=None):
    """Target: a figure of one contender stays at or above `limit` at every size."""
    return Target(text=text, check=_bound(contender, figure, limit, sizes, largest=False))


def none_faster(text, *, qualifies):
    """Target: no qualifying peer takes less time than ours; `qualifies` decides by row."""

    def check(rows):
        rivals = [row for row in rows if row.peer and row.ratio is not None and qualifies(row)]
        if not rivals:
            return None, "no peer qualifies"
        best = min(rivals, key=lambda row: row.ratio)
        return best.ratio >= 1, f"nearest: {best.contender} at {best.ratio:.3g} ({best.size})"

    return Target(text=text, check=check)


def _bound(contender, figure, limit, sizes, *, largest):
    def check(rows):
        values = [
            row.value(figure)
            for row in rows
            if row.contender == contender and (sizes is None or row.size in sizes)
        ]
        values = [value for value in values if value is not None]
        if not values:
            return None, "not measured"
        worst = max(values) if largest else min(values)
        return (worst <= limit if largest else worst >= limit), f"{worst:.3g}"

    return check
