"""Checks of array lengths for compiled code, which checks no bounds."""

from collections.abc import Sized


def check_lengths(length: int, **arrays: Sized) -> None:
    """Reject arrays whose length differs from what compiled code assumes.

    Arrays that stay on an object between calls may be set by hand, loaded from a file or changed
    by another thread. Compiled code would read and write beyond their ends.

    >>> check_lengths(3, coef=[1.0, 2.0])
    Traceback (most recent call last):
    ...
    ValueError: coef has length 2 instead of 3: fit again.
    """
    for name, array in arrays.items():
        if len(array) != length:
            raise ValueError(f"{name} has length {len(array)} instead of {length}: fit again.")
