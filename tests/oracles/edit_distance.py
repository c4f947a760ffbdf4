"""Edit distance by the recursion of its definition."""

from functools import cache


def edit_distance(x, z, gap=1.0, substitution=1.0):
    """Least cost of insertions, deletions and substitutions [Wagner and Fischer 1974]."""

    @cache
    def d(i, j):
        if i == 0 or j == 0:
            return gap * (i + j)
        change = 0.0 if x[i - 1] == z[j - 1] else substitution
        return min(d(i - 1, j - 1) + change, d(i - 1, j) + gap, d(i, j - 1) + gap)

    return float(d(len(x), len(z)))
