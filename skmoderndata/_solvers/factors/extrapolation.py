"""Extrapolation of alternating steps, as long as the objective falls.

As in the paper (Ang and Gillis 2019), except that after a failure one pass is not extrapolated.
"""


class Extrapolation:
    """Length of the extrapolation beyond the last step, in units of this step.

    The length grows by a twentieth per pass, up to a limit. If the objective has risen, the next
    pass is not extrapolated, the length shrinks by a third, and the limit becomes the old length.
    """

    def __init__(self, *, off: bool = False) -> None:
        self.off = off
        self._length = 0.5
        self._limit = 1.0
        self._paused = True

    @property
    def length(self) -> float:
        """Length in this pass; 0 without extrapolation."""
        return 0.0 if self.off or self._paused else self._length

    def led_astray(self) -> None:
        """Pause for one pass, and continue with smaller steps."""
        self._limit = self._length
        self._length /= 1.5
        self._paused = True

    def went_well(self) -> None:
        """Grow, unless this pass was not extrapolated."""
        if not self._paused:
            self._limit = min(1.0, 1.01 * self._limit)
            self._length = min(self._limit, 1.05 * self._length)
        self._paused = False
