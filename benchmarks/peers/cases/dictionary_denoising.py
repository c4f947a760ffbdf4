"""Photographs with white noise, denoised by sparse codes of their patches."""

from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, Target

SIGMA = 20.0
GAIN = 1.15
N_ATOMS = 256
PATCH = 8
PASSES = 10
BOUND = PATCH**2 * (GAIN * SIGMA) ** 2


class Photographs(NamedTuple):
    """Grey photographs without and with noise."""

    clean: list[np.ndarray]
    noisy: list[np.ndarray]


def work(size, rng):
    """Draw noise of 20 grey levels for both sample images, or for their central parts."""
    from sklearn.datasets import load_sample_images

    clean = []
    for image in load_sample_images().images:
        gray = image.mean(axis=2)
        if size is not None:
            top = (gray.shape[0] - size) // 2
            left = (gray.shape[1] - size) // 2
            gray = gray[top : top + size, left : left + size]
        clean.append(gray)
    return Photographs(clean, [gray + rng.normal(0, SIGMA, gray.shape) for gray in clean])


def quality(photographs, denoised):
    """Peak signal-to-noise ratio, averaged over the images."""
    values = [
        10 * np.log10(255**2 / np.mean((clean - image) ** 2))
        for clean, image in zip(photographs.clean, denoised, strict=True)
    ]
    return {"psnr": float(np.mean(values))}


def ours(**settings):
    def run(photographs):
        from skmoderndata.image import DictionaryDenoiser

        model = DictionaryDenoiser(SIGMA, random_state=0, **settings)
        return [model.fit_transform(noisy) for noisy in photographs.noisy]

    return run


def all_patches(image):
    """Patches in rows, without their means, and the means."""
    view = np.lib.stride_tricks.sliding_window_view(image, (PATCH, PATCH))
    patches = view.reshape(-1, PATCH**2).astype(float)
    means = patches.mean(axis=1, keepdims=True)
    return patches - means, means


def put_back(patches, noisy):
    """Average of the patches at every pixel, and of the noisy image with weight 30 / sigma."""
    rows = noisy.shape[0] - PATCH + 1
    columns = noisy.shape[1] - PATCH + 1
    cube = patches.reshape(rows, columns, PATCH, PATCH)
    total = 30 / SIGMA * noisy
    weight = np.full(noisy.shape, 30 / SIGMA)
    for y in range(PATCH):
        for x in range(PATCH):
            total[y : y + rows, x : x + columns] += cube[:, :, y, x]
            weight[y : y + rows, x : x + columns] += 1
    return total / weight


def cosine_start():
    """Over-complete cosines as in the published program."""
    i = np.arange(PATCH)[:, None]
    V = np.cos(i * np.arange(16)[None] * np.pi / 16)
    V[:, 1:] -= V[:, 1:].mean(axis=0)
    V /= np.linalg.norm(V, axis=0)
    return np.kron(V, V).T


def textbook(photographs):
    """K-SVD as published: pursuit of all patches, one full decomposition for each atom."""
    from sklearn.linear_model import orthogonal_mp_gram

    def code(X, D):
        found = orthogonal_mp_gram(
            D @ D.T, D @ X.T, tol=BOUND, norms_squared=np.sum(X**2, axis=1)
        ).T
        found[np.sum(X**2, axis=1) <= BOUND] = 0  # scikit-learn always uses at least one atom
        return found

    out = []
    for noisy in photographs.noisy:
        X, means = all_patches(noisy)
        D = cosine_start()
        busy = X[np.sum(X**2, axis=1) > BOUND]  # all other patches have zero codes
        for _ in range(PASSES):
            A = code(busy, D)
            for j in range(N_ATOMS):
                users = np.flatnonzero(A[:, j])
                if users.size == 0:
                    worst = np.argmax(np.sum((busy - A @ D) ** 2, axis=1))
                    D[j] = busy[worst] / np.linalg.norm(busy[worst])
                    continue
                A[users, j] = 0
                U, s, Vt = np.linalg.svd(busy[users] - A[users] @ D, full_matrices=False)
                D[j] = Vt[0]
                A[users, j] = s[0] * U[:, 0]
        out.append(put_back(code(X, D) @ D + means, noisy))
    return out


def spams_learning(photographs):
    import spams

    out = []
    for noisy in photographs.noisy:
        X, means = all_patches(noisy)
        data = np.asfortranarray(X.T)
        D = spams.trainDL(
            data,
            D=np.asfortranarray(cosine_start().T),
            lambda1=BOUND,
            mode=4,
            iter=PASSES * -(-min(len(X), 40_000) // 512),
            batchsize=512,
            numThreads=1,
            verbose=False,
        )
        codes = spams.omp(data, np.asfortranarray(D), eps=BOUND, numThreads=1)
        out.append(put_back((D @ codes).T + means, noisy))
    return out


def block_matching(photographs):
    from bm3d import bm3d

    return [bm3d(noisy, SIGMA) for noisy in photographs.noisy]


def sklearn_gallery(photographs):
    from sklearn.decomposition import MiniBatchDictionaryLearning

    out = []
    for noisy in photographs.noisy:
        X, means = all_patches(noisy)
        spread = X.std(axis=0)
        model = MiniBatchDictionaryLearning(
            N_ATOMS,
            batch_size=200,
            alpha=1.0,
            max_iter=10,
            transform_algorithm="omp",
            transform_n_nonzero_coefs=2,
            random_state=0,
        )
        few = np.random.default_rng(0).permutation(len(X))[:40_000]
        D = model.fit(X[few] / spread).components_
        out.append(put_back(model.transform(X / spread) @ D * spread + means, noisy))
    return out


def _pairs(rows, name):
    found = {(row.size, row.contender): row for row in rows if row.ratio is not None}
    return [
        (row, found[size, "K-SVD"])
        for (size, other), row in found.items()
        if other == name and (size, "K-SVD") in found
    ]


def _gain(rows):
    pairs = _pairs(rows, "cosines")
    if not pairs:
        return None, "not measured"
    gains = [mine.quality["psnr"] - other.quality["psnr"] for other, mine in pairs]
    return min(gains) >= 0.2, f"{min(gains):.2f} dB"


def _as_textbook(rows):
    pairs = _pairs(rows, "plain K-SVD")
    if not pairs:
        return None, "not measured"
    ok = all(
        mine.quality["psnr"] >= other.quality["psnr"] - 0.1 and other.ratio >= 5
        for other, mine in pairs
    )
    shown = [
        (mine.quality["psnr"] - other.quality["psnr"], other.ratio) for other, mine in pairs
    ]
    return ok, "; ".join(
        f"{gain:+.2f} dB in 1/{ratio:.0f} of the time" for gain, ratio in shown
    )


SIZES = {
    "two images of 64 x 64": 64,
    "two images of 192 x 192": 192,
    "two images of 256 x 256": 256,
}
QUICK = dict(list(SIZES.items())[:1])

CASE = Case(
    title="Denoising of photographs by dictionaries",
    question=(
        "White noise of 20 grey levels is added to two photographs. How well do sparse codes "
        "of 8 x 8 patches with 256 atoms remove it, and how fast?"
    ),
    remarks=(
        "All contenders run in one thread. All except BM3D and scikit-learn code every "
        "patch until its squared error is below the published bound `64 (1.15 * 20)^2`, and "
        "give the noisy pixels the weight 30 / 20 in the final average. `K-SVD` and "
        "`cosines` then filter groups of similar patches together; the other contenders "
        "stop there. The plain K-SVD is a direct numpy implementation of the published "
        "algorithm with scikit-learn's pursuit: it uses all patches, makes ten passes, and "
        "computes a singular value decomposition for each atom. The scikit-learn contender "
        "follows the recipe of its gallery: two atoms per patch, learned with an l1 "
        "penalty. BM3D filters groups of similar patches together without learning."
    ),
    ours="K-SVD",
    sizes=SIZES,
    quick_sizes=QUICK,
    warmup=24,
    work=work,
    contenders={
        "K-SVD": Contender(run=ours(), peer=False, note="`DictionaryDenoiser(20)`"),
        "without groups": Contender(
            run=ours(group_size=1),
            peer=False,
            note="`group_size=1`, so that only sparse codes are used",
        ),
        "cosines": Contender(
            run=ours(dictionary="cosines"), peer=False, note="`dictionary='cosines'`"
        ),
        "plain K-SVD": Contender(
            run=textbook,
            peer=False,
            note="uses all patches; implemented in this benchmark",
            sizes=tuple(QUICK),
            why_not="takes minutes",
        ),
        "spams": Contender(
            run=spams_learning,
            requires="spams-bin>=2.6",
            note=(
                "`trainDL(mode=4)` with the same start and the same number of patches as "
                "K-SVD, then `omp`"
            ),
        ),
        "BM3D": Contender(
            run=block_matching,
            requires="bm3d>=4.0",
            note=(
                "filters groups of similar patches without a dictionary, as in Dabov et al. "
                "(2007)"
            ),
        ),
        "scikit-learn": Contender(
            run=sklearn_gallery,
            requires="scikit-learn>=1.9",
            note="follows the recipe of the gallery with 256 atoms of 8 x 8",
            sizes=tuple(QUICK),
            why_not="takes minutes",
        ),
    },
    quality=quality,
    figures={"psnr": "mean peak signal-to-noise ratio in decibels; 22.1 for the noisy images"},
    targets=(
        Target(text="learned atoms reach at least 0.2 dB more than cosines", check=_gain),
        Target(
            text="within 0.1 dB of a plain K-SVD, in a fifth of its time",
            check=_as_textbook,
        ),
    ),
    repeat=3,
)
