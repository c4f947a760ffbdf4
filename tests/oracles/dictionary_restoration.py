"""Images restored patch by patch, in the plainest form."""

import numpy as np


def pursuit(x, D, known, most, bound):
    """Orthogonal matching pursuit of the known entries [Mairal, Elad and Sapiro 2008].

    At most `most` atoms, until the squared residual is at most `bound`: support and coefficients.
    Atoms with hardly a known entry stay out.
    """
    x = x[known]
    D = D[:, known]
    norms = np.linalg.norm(D, axis=1)
    support = []
    a = np.zeros(0)
    r = x.copy()
    while r @ r > bound and len(support) < min(most, len(x)):
        score = np.where(norms**2 > 1e-3, np.abs(D @ r) / np.maximum(norms, 1e-12), 0)
        score[support] = 0
        new = int(np.argmax(score))
        if score[new] <= 1e-10 * np.linalg.norm(x):
            break
        support.append(new)
        a = np.linalg.lstsq(D[support].T, x, rcond=None)[0]
        r = x - a @ D[support]
    return support, a


def average(image, known, D, p, q, most, bound_each):
    """Sum and weights of the coded patches, pixel by pixel [Elad and Aharon 2006].

    Patches of p times q pixels are coded without their means; the quotient of both is the restored
    image.
    """
    height, width, channels = image.shape
    total = np.zeros(image.shape)
    weight = np.zeros(image.shape)
    for y in range(height - p + 1):
        for x in range(width - q + 1):
            # code the known pixels, without the mean of each channel
            patch = image[y : y + p, x : x + q]
            seen = known[y : y + p, x : x + q]
            means = np.array(
                [
                    patch[:, :, c][seen[:, :, c]].mean() if seen[:, :, c].any() else 0.0
                    for c in range(channels)
                ]
            )

            # code the patch without its means, by the pixels that are seen
            signal = np.where(seen, patch - means, 0.0).ravel()
            support, a = pursuit(signal, D, seen.ravel(), most, bound_each * seen.sum())
            coded = (a @ D[support]).reshape(p, q, channels) + means

            fraction = seen.reshape(-1, channels).mean(axis=0)

            # each pixel counts as far as its patch is known
            total[y : y + p, x : x + q] += fraction * coded
            weight[y : y + p, x : x + q] += fraction
    return total, weight


def similar(image, p, q, y, x, reach, k):
    """Corners of the patch at (y, x) and of the k - 1 patches nearest to it, within reach."""
    height, width = image.shape[:2]
    here = image[y : y + p, x : x + q]
    far = {}
    for row in range(max(0, y - reach), min(height - p, y + reach) + 1):
        for column in range(max(0, x - reach), min(width - q, x + reach) + 1):
            there = image[row : row + p, column : column + q]
            far[row, column] = np.sum((there - here) ** 2)
    far[y, x] = -1  # put the patch itself first, even among equal ones
    return sorted(far, key=far.get)[:k]


def filter_groups(image, first, p, q, corners, reach, k, sigma):
    """Patches of groups by the Wiener filter of the first approximation [Lebrun et al. 2013].

    For n numbers in a patch, the filter uses n / 2 members, up to 64, or k if k is larger. The k
    nearest are put back.
    """
    n = p * q * image.shape[2]
    members = max(k, min(64, n // 2))
    total = np.zeros(image.shape)
    weight = np.zeros(image.shape)
    for y, x in corners:
        group = similar(first, p, q, y, x, reach, members)
        P = np.array([first[a : a + p, b : b + q].ravel() for a, b in group])
        Y = np.array([image[a : a + p, b : b + q].ravel() for a, b in group])

        # compute the filter from the covariance of the approximations
        C = np.cov(P.T, bias=True)
        W = C @ np.linalg.inv(C + sigma**2 * np.eye(len(C)))

        # the mean: James-Stein towards the mean of the approximations, none if noise explains all
        mean = P.mean(axis=0)
        difference = Y.mean(axis=0) - mean
        ratio = n * sigma**2 / members / np.sum(difference**2) if difference.any() else np.inf
        if ratio < 1 / 1.5:
            mean = mean + (1 - ratio) * difference

        counts = 1 / (1 + np.trace(W))
        for (a, b), patch in list(zip(group, mean + (Y - mean) @ W, strict=True))[:k]:
            total[a : a + p, b : b + q] += counts * patch.reshape(p, q, -1)
            weight[a : a + p, b : b + q] += counts
    return total / weight
