"""The estimate of James and Stein in plain Python, mean by mean."""


def james_stein(y, s_sq, target):
    """Positive-part estimate; `target` is a number, or None for the mean of the y."""
    m = len(y)
    c = m - 3 if target is None else m - 2
    t = sum(y) / m if target is None else target
    spread = sum((value - t) ** 2 for value in y)
    factor = max(0.0, 1 - c * s_sq / spread)
    return [t + factor * (value - t) for value in y]
