"""Long compiled loops in pieces: an interrupt is heard between two of them."""

from collections.abc import Callable
from typing import Any

PIECE_CELLS = 4 * 10**7  # cells of dynamic programming in one compiled call, .02 to 1 s


def in_pieces(function: Callable[..., bool], *args: Any) -> None:
    """Call ``function(*args, cells)``, which does about `cells` cells at a time, until it is True.

    Python notices Ctrl-C between two calls only. The arguments hold the state of the dynamic
    program: the position that the next call goes on from, and the rows that it needs.
    """
    while not function(*args, PIECE_CELLS):
        pass
