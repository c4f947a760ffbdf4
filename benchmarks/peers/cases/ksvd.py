"""Dictionaries learned from image patches, with four atoms in each code."""

from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, Target, at_most

N_ATOMS = 256
N_NONZERO = 4


class Patches(NamedTuple):
    """Patches without their mean, and the number of passes."""

    X: np.ndarray
    passes: int


def work(size, rng):
    """Draw 8 x 8 patches of both sample images."""
    from sklearn.datasets import load_sample_images
    from sklearn.feature_extraction.image import extract_patches_2d

    n, passes = size
    parts = []
    for image in load_sample_images().images:
        seed = int(rng.integers(2**31))
        grey = image.mean(axis=2)
        parts.append(extract_patches_2d(grey, (8, 8), max_patches=n // 2, random_state=seed))
    X = np.concatenate(parts).reshape(n, 64)
    return Patches(X - X.mean(axis=1, keepdims=True), passes)


def quality(patches, atoms):
    """Code all patches with the atoms by the same orthogonal matching pursuit."""
    from skmoderndata.sparse_coding import SparseCoder

    coder = SparseCoder(np.asarray(atoms), transform_n_nonzero_coefs=N_NONZERO).fit(patches.X)
    return {
        "rmse": float(
            np.sqrt(np.square(coder.encode(patches.X).residual_norm).sum() / patches.X.size)
        )
    }


def ours(**settings):
    def run(patches):
        from skmoderndata.decomposition import KSVD

        model = KSVD(
            N_ATOMS,
            n_nonzero_coefs=N_NONZERO,
            max_iter=patches.passes,
            random_state=0,
            **settings,
        )
        return model.fit(patches.X).components_

    return run


def spams_online(patches):
    import spams

    batch = 512
    D = spams.trainDL(
        np.asfortranarray(patches.X.T),
        K=N_ATOMS,
        lambda1=N_NONZERO,
        mode=3,
        iter=patches.passes * -(-len(patches.X) // batch),
        batchsize=batch,
        numThreads=1,
        verbose=False,
    )
    return D.T


def ksvd_package(patches):
    from ksvd import ApproximateKSVD

    model = ApproximateKSVD(
        n_components=N_ATOMS,
        max_iter=patches.passes,
        tol=1e-12,
        transform_n_nonzero_coefs=N_NONZERO,
    )
    return model.fit(patches.X).components_


def sklearn_mini_batch(patches):
    from sklearn.decomposition import MiniBatchDictionaryLearning

    model = MiniBatchDictionaryLearning(
        N_ATOMS,
        alpha=60.0,
        fit_algorithm="cd",
        max_iter=patches.passes,
        batch_size=1024 if len(patches.X) > 10_000 else 512,
        max_no_improvement=None,
        tol=0.0,
        random_state=0,
    )
    return model.fit(patches.X).components_


def _sklearn_beaten(rows):
    found = {(row.size, row.contender): row for row in rows if row.ratio is not None}
    pairs = [
        (row, found[size, "KSVD"])
        for (size, name), row in found.items()
        if name == "scikit-learn" and (size, "KSVD") in found
    ]
    if not pairs:
        return None, "not measured"
    ok = all(t.ratio > 1 and t.quality["rmse"] > o.quality["rmse"] for t, o in pairs)
    shown = "; ".join(
        f"takes {t.ratio:.0f} times as long, with an error of {t.quality['rmse']:.2f} "
        f"(ours: {o.quality['rmse']:.2f})"
        for t, o in pairs
    )
    return ok, shown


def _peers_beaten(rows):
    """Smaller batches: every peer takes longer for the same passes, or has a larger error."""
    found = {(row.size, row.contender): row for row in rows if row.ratio is not None}
    pairs = [
        (row, found[row.size, "KSVD, batches"])
        for row in rows
        if row.peer and row.ratio is not None and (row.size, "KSVD, batches") in found
    ]
    if not pairs:
        return None, "not measured"
    ok = all(
        peer.ratio > mine.ratio and peer.quality["rmse"] > 0.999 * mine.quality["rmse"]
        for peer, mine in pairs
    )
    peer, mine = min(pairs, key=lambda pair: pair[0].ratio / pair[1].ratio)
    return ok, (
        f"nearest: {peer.contender} takes {peer.ratio / mine.ratio:.1f} times as long, with "
        f"an error of {peer.quality['rmse']:.2f} (ours: {mine.quality['rmse']:.2f}; {peer.size})"
    )


QUICK = {"2,000 patches, 3 passes": (2_000, 3)}
SMALL = "3,000 patches, 5 passes"
MIDDLE = "10,000 patches, 10 passes"
LONG = "50,000 patches, 30 passes"
SIZES = {
    SMALL: (3_000, 5),
    MIDDLE: (10_000, 10),
    "100,000 patches, 5 passes": (100_000, 5),
    "50,000 patches, 10 passes": (50_000, 10),
    LONG: (50_000, 30),
}
TEN_PASSES = (*QUICK, *SIZES)[:-1]

CASE = Case(
    title="Dictionaries learned from image patches",
    question=(
        "How long does it take to learn a dictionary of 256 atoms from 8 x 8 patches of two "
        "photographs? How well does the dictionary code the patches with four atoms each?"
    ),
    remarks=(
        "All contenders run in one thread. `rmse` is computed on the training patches, coded "
        "with the final atoms by the same plain orthogonal matching pursuit for all "
        "contenders. The online method of spams updates its atoms after every 512 patches. "
        "`KSVD` updates them after every 2,048 patches (750 at the small size). At the end "
        "of a pass, it updates them once more, together with the coefficients. Updating only "
        "once per pass, as in the published K-SVD, takes less time but learns about half as "
        "much from a pass."
    ),
    ours="KSVD",
    sizes=SIZES,
    quick_sizes=QUICK,
    warmup=(600, 2),
    work=work,
    contenders={
        "KSVD": Contender(
            run=ours(),
            peer=False,
            note="the default parameters, which include `algorithm='ormp'`",
        ),
        "KSVD, omp": Contender(
            run=ours(algorithm="omp"),
            peer=False,
            note="plain orthogonal matching pursuit, `algorithm='omp'`",
            sizes=TEN_PASSES,
            why_not="shown only for 10 passes",
        ),
        "KSVD, batches": Contender(
            run=ours(algorithm="omp", batch_size=1024),
            peer=False,
            note=(
                "`algorithm='omp'` and `batch_size=1024`, so that a batch has four signals "
                "per atom instead of eight"
            ),
            sizes=TEN_PASSES,
            why_not="shown only for 10 passes",
        ),
        "KSVD, once per pass": Contender(
            run=ours(batch_size=None),
            peer=False,
            note="`batch_size=None`, so that atoms change only at the end of a pass",
            sizes=TEN_PASSES,
            why_not="shown only for 10 passes",
        ),
        "KSVD, exact": Contender(
            run=ours(update="exact"),
            peer=False,
            note="`update='exact'`",
            sizes=(SMALL, *QUICK),
            why_not="shown only at the small size",
        ),
        "spams": Contender(
            run=spams_online,
            requires="spams-bin>=2.6",
            note=(
                "`trainDL(mode=3, lambda1=4)`, which learns online in C++ with at most four "
                "atoms per code"
            ),
            sizes=TEN_PASSES,
            why_not="shown only for 10 passes",
        ),
        "ksvd": Contender(
            run=ksvd_package,
            requires="ksvd>=0.0.3",
            note="`ApproximateKSVD`, which uses scikit-learn's pursuit",
            sizes=(SMALL, *QUICK),
            why_not="takes minutes; shown at the small size",
        ),
        "scikit-learn": Contender(
            run=sklearn_mini_batch,
            requires="scikit-learn>=1.9",
            note=(
                "`MiniBatchDictionaryLearning(alpha=60, fit_algorithm='cd')` with batches "
                "of 1024 (512 at the small size), the best of the settings that we tried"
            ),
            sizes=(SMALL, MIDDLE, *QUICK),
            why_not="takes minutes; shown at the smaller sizes",
        ),
    },
    quality=quality,
    figures={"rmse": "root mean squared residual with four atoms, in grey levels"},
    targets=(
        Target(text="lower error than scikit-learn in less time", check=_sklearn_beaten),
        Target(
            text=(
                "faster than every peer for the same number of passes, with an equal or "
                "lower error (batches of 1024)"
            ),
            check=_peers_beaten,
        ),
        at_most("error of at most 10.3 after 30 passes", "KSVD", "rmse", 10.3, sizes=[LONG]),
    ),
    repeat=3,
)
