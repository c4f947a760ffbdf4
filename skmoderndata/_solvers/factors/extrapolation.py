"""Extrapolation of alternating steps, as long as the objective falls [Ang & Gillis 2019]."""


class Extrapolation:
    """How far to go beyond the last step, in units of it.

    The length grows by a twentieth from pass to pass, up to a limit; where the objective rose, the
    next pass goes without, the length shrinks by a third, and the limit becomes the last length.
    """

    def __init__(self, *, off: bool = False) -> None:
        self.off = off
        self._length = 0.5
        self._limit = 1.0
        self._paused = True

    @property
    def length(self) -> float:
        """Length of this pass; 0 is a pass without."""
        return 0.0 if self.off or self._paused else self._length

    def led_astray(self) -> None:
        """Pause for a pass, and go on with smaller steps."""
        self._limit = self._length
        self._length /= 1.5
        self._paused = True

    def went_well(self) -> None:
        """Grow, unless this pass was one without."""
        if not self._paused:
            self._limit = min(1.0, 1.01 * self._limit)
            self._length = min(self._limit, 1.05 * self._length)
        self._paused = False
