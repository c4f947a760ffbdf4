"""Classes that describe a reproduction."""

from collections.abc import Callable
from dataclasses import dataclass

PRINTED = "printed"
OWN_TARGET = "own target"
THEORY = "theory"


@dataclass(frozen=True, kw_only=True)
class Value:
    """One printed value next to ours; `origin` says what kind of source the value has."""

    setting: str
    quantity: str
    expected: str
    origin: str
    ours: float | str
    holds: bool


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One publication.

    Attributes
    ----------
    title, cites : str
        Subject of the reproduction, and the publication.
    source : str
        Where each expected value was read, precisely enough for a reader to find it.
    values : callable
        `values(quick)` computes ours and returns a list of `Value`.
    remarks : str
        Differences between our setting and the publication.
    not_reached : tuple of str
        Settings with a value that is known to disagree; `remarks` gives the reason.
    """

    title: str
    cites: str
    source: str
    values: Callable[[bool], list[Value]]
    remarks: str = ""
    not_reached: tuple[str, ...] = ()


def value(setting, quantity, expected, origin, ours, *, holds):
    """Build a `Value` without keywords."""
    return Value(
        setting=setting,
        quantity=quantity,
        expected=expected,
        origin=origin,
        ours=ours,
        holds=bool(holds),
    )
