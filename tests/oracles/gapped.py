"""Alignments with gaps by the recursion for any cost of a gap, and by trying all alignments."""


def gap(k, first, further):
    """Cost of a gap of k symbols."""
    return first + (k - 1) * further


def alignment_score(x, z, score, first, further, local=False):
    """Best score of an alignment with gaps [Waterman, Smith and Beyer 1976].

    A cell looks back over gaps of all lengths, so that no gap needs to know whether it is open.
    """
    H = {(0, 0): 0.0}
    for i in range(len(x) + 1):
        for j in range(len(z) + 1):
            ends = [0.0] if local or i == j == 0 else []
            if i > 0 and j > 0:
                ends.append(H[i - 1, j - 1] + score(x[i - 1], z[j - 1]))
            ends += [H[i - k, j] - gap(k, first, further) for k in range(1, i + 1)]
            ends += [H[i, j - k] - gap(k, first, further) for k in range(1, j + 1)]
            H[i, j] = max(ends)
    return max(H.values()) if local else H[len(x), len(z)]


def score_of_path(path, x, z, score, first, further):
    """Score of a given alignment: aligned symbols, less what its gaps cost."""
    total = 0.0
    before = None
    for i, j in path:
        if i >= 0 and j >= 0:
            total += score(x[i], z[j])
            before = None
            continue
        kind = "x" if i < 0 else "z"
        total -= further if kind == before else first
        before = kind
    return total


def all_alignments(n, m):
    """Every alignment of n and m symbols, as lists of pairs of positions."""
    if n == 0 and m == 0:
        return [[]]
    paths = []
    if n > 0 and m > 0:
        paths += [[*path, (n - 1, m - 1)] for path in all_alignments(n - 1, m - 1)]
    if n > 0:
        paths += [[*path, (n - 1, -1)] for path in all_alignments(n - 1, m)]
    if m > 0:
        paths += [[*path, (-1, m - 1)] for path in all_alignments(n, m - 1)]
    return paths
