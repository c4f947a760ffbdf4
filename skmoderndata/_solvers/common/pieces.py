"""Long compiled loops in pieces, so that Ctrl-C takes effect between two pieces."""

from collections.abc import Callable
from typing import Any

# Number of cells of dynamic programming in one compiled call, which takes .02 to 1 s.
PIECE_CELLS = 4 * 10**7


def in_pieces(function: Callable[..., bool], *args: Any) -> None:
    """Call ``function(*args, cells)``, which handles about `cells` cells, until it returns True.

    Python only notices Ctrl-C between two calls. The arguments hold the state of the dynamic
    program: the position at which the next call continues, and the rows that it needs.
    """
    while not function(*args, PIECE_CELLS):
        pass
