"""What the ranking machines share: ranks from values and thresholds."""


def ranks_above(values, thresholds):
    """Rank of each value: how many thresholds it reaches."""
    return (values[:, None] >= thresholds).sum(axis=1)
