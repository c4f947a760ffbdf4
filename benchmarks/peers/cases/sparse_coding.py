"""Greedy codes of image patches, with few atoms or an error bound."""

from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, Target, at_least, at_most

# Standard deviation of the noise, on the scale of 255 grey levels.
SIGMA = 20.0
# Maximum squared residual of a patch.
BOUND = 64 * (1.15 * SIGMA) ** 2
ALPHA = 50.0
# Number of patches whose gap and agreement with the standard pursuit are computed.
CHECKED = 400
# Number of signals that are checked for the large dictionary.
FEW = 2


class Patches(NamedTuple):
    """Patches with mean zero, 256 atoms of unit norm, and the coding task."""

    X: np.ndarray
    D: np.ndarray
    task: str
    spams: tuple  # patches and atoms of the same problem, in columns


def work(size, rng):
    """Draw 8 x 8 patches of both sample images with noise; over-complete cosines as atoms."""
    from sklearn.datasets import load_sample_images
    from sklearn.feature_extraction.image import extract_patches_2d

    task, n, dtype = size
    if task.endswith(" large"):
        return large(task.removesuffix(" large"), n, rng)
    parts = []
    for image in load_sample_images().images:
        grey = image.mean(axis=2)
        grey = grey + SIGMA * rng.normal(size=grey.shape)
        seed = int(rng.integers(2**31))
        parts.append(extract_patches_2d(grey, (8, 8), max_patches=n // 2, random_state=seed))
    X = np.concatenate(parts).reshape(n, 64)
    X = (X - X.mean(axis=1, keepdims=True)).astype(dtype)
    waves = np.cos(np.pi * np.outer(np.arange(16), np.arange(8)) / 16)
    waves[1:] -= waves[1:].mean(axis=1, keepdims=True)
    waves /= np.linalg.norm(waves, axis=1, keepdims=True)
    D = np.kron(waves, waves).astype(dtype)
    return Patches(X, D, task, (np.asfortranarray(X.T), np.asfortranarray(D.T)))


def large(task, n, rng):
    """Noisy sums of 100 of 2,000 Gaussian atoms; ALPHA is a tenth of the largest correlation."""
    D = rng.normal(size=(2000, 1000))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    X = np.array(
        [rng.normal(size=100) @ D[rng.choice(2000, 100, replace=False)] for _ in range(n)]
    )
    X += 0.01 * rng.normal(size=X.shape)
    X *= 10 * ALPHA / np.abs(X @ D.T).max(axis=1, keepdims=True)
    return Patches(X, D, task, (np.asfortranarray(X.T), np.asfortranarray(D.T)))


def quality(patches, codes):
    """Evaluate the codes on their own, in double precision."""
    X = patches.X.astype(float)
    D = patches.D.astype(float)
    A = _rows(codes, len(X))
    # compute the rows of the product in chunks
    residual = np.concatenate(
        [
            np.sum((X[i : i + 5000] - A[i : i + 5000] @ D) ** 2, axis=1)
            for i in range(0, len(X), 5000)
        ]
    )

    figures = {
        "atoms": A.nnz / len(X),
        "rmse": float(np.sqrt(residual.sum() / X.size)),
    }

    # the standard implementation codes some of the signals again
    sample_rows = slice(0, len(X), max(1, len(X) // (CHECKED if len(D) < 2000 else FEW)))
    checked = A[sample_rows].toarray()
    signals = X[sample_rows]

    if patches.task == "lasso":
        figures["gap"] = float(_gaps(signals, checked, D).max())
        return figures
    if patches.task == "error":
        figures["violations"] = int(np.sum(residual > BOUND * (1 + 1e-6)))

    textbook = np.array([_textbook(x, D, patches.task) for x in signals])
    same = ((checked != 0) == (textbook != 0)).all(axis=1)
    figures["textbook"] = float(same.mean())
    return figures


def _rows(codes, n):
    from scipy import sparse

    codes = sparse.csr_array(codes)
    return codes if codes.shape[0] == n else sparse.csr_array(codes.T)


def _textbook(x, D, task):
    """Orthogonal matching pursuit with least squares from scratch in each step."""
    limit = 64 if task == "error" else int(task)
    bound = BOUND if task == "error" else -1.0
    code = np.zeros(len(D))
    support = []
    r = x
    a = np.zeros(0)
    while len(support) < limit and r @ r > bound:
        score = np.abs(D @ r)
        score[support] = -1
        support.append(int(score.argmax()))
        a = np.linalg.lstsq(D[support].T, x, rcond=None)[0]
        r = x - a @ D[support]
    code[support] = a
    return code


def _gaps(X, A, D):
    """Relative duality gaps of ``1/2 |x - a D|^2 + ALPHA |a|_1``."""
    R = X - A @ D
    C = R @ D.T
    primal = 0.5 * np.sum(R**2, axis=1) + ALPHA * np.abs(A).sum(axis=1)
    xr = np.sum(X * R, axis=1)
    rr = np.maximum(np.sum(R**2, axis=1), 1e-300)
    t = np.minimum(xr / rr, ALPHA / np.maximum(np.abs(C).max(axis=1), 1e-300))
    return (primal - t * xr + 0.5 * t**2 * rr) / np.maximum(primal, 1e-300)


def ours(n_jobs, **settings):
    def run(patches):
        from skmoderndata.sparse_coding import SparseCoder

        if patches.task == "lasso":
            given = {"transform_algorithm": "lasso", "transform_alpha": ALPHA}
        elif patches.task == "error":
            given = {"residual_tol": np.sqrt(BOUND)}
        else:
            given = {"transform_n_nonzero_coefs": int(patches.task)}
        given |= settings
        coder = SparseCoder(patches.D, code_format="csr", n_jobs=n_jobs, **given)
        return coder.fit_transform(patches.X)

    return run


def spams_codes(n_threads):
    def run(patches):
        import spams

        X, D = patches.spams
        if patches.task == "lasso":
            return spams.lasso(X, D, lambda1=ALPHA, mode=2, numThreads=n_threads)
        if patches.task == "error":
            return spams.omp(X, D, L=64, eps=BOUND, numThreads=n_threads)
        # in single precision, all codes are zero if there is no bound
        return spams.omp(X, D, L=int(patches.task), eps=1e-3, numThreads=n_threads)

    return run


def sklearn_gram(patches):
    from sklearn.linear_model import orthogonal_mp_gram

    B = patches.D @ patches.X.T
    gram = patches.D @ patches.D.T
    if patches.task == "error":
        sizes = np.sum(patches.X**2, axis=1)
        return orthogonal_mp_gram(gram, B, tol=BOUND, norms_squared=sizes)
    return orthogonal_mp_gram(gram, B, n_nonzero_coefs=int(patches.task))


def beats(text, rival, factor, sizes):
    """Target: at these sizes the peer takes at least `factor` times as long as ours."""

    def check(rows):
        times = [row.ratio for row in rows if row.contender == rival and row.size in sizes]
        times = [ratio for ratio in times if ratio is not None]
        if not times:
            return None, "not measured"
        return min(times) >= factor, f"{min(times):.3g}"

    return Target(text=text, check=check)


SIZES = {
    "4 atoms, 500 patches": ("4", 500, "float64"),
    "4 atoms, 5,000 patches": ("4", 5_000, "float64"),
    "4 atoms": ("4", 50_000, "float64"),
    "10 atoms": ("10", 50_000, "float64"),
    "error bound": ("error", 50_000, "float64"),
    "4 atoms, float32": ("4", 50_000, "float32"),
    "10 atoms, float32": ("10", 50_000, "float32"),
    "error bound, float32": ("error", 50_000, "float32"),
    "4 atoms, 400,000 patches": ("4", 400_000, "float64"),
    "100 of 2,000 atoms, 5 signals": ("100 large", 5, "float64"),
    "100 of 2,000 atoms, 50 signals": ("100 large", 50, "float64"),
}
SMALL = ("4 atoms, 500 patches", "4 atoms, 5,000 patches")
QUICK = {"4 atoms, 4,000 patches": ("4", 4_000, "float64")}
DOUBLE = ["4 atoms", "10 atoms", "error bound"]
USUAL = [*DOUBLE, *(f"{size}, float32" for size in DOUBLE), *QUICK]
LARGE = ["100 of 2,000 atoms, 5 signals", "100 of 2,000 atoms, 50 signals"]

CASE = Case(
    title="Sparse codes of image patches",
    question=(
        "How fast does each program code noisy 8 x 8 patches with an over-complete dictionary "
        "of 256 cosines? A code has 4 or 10 atoms, or as few atoms as the error bound of image "
        "denoising allows (sigma = 20). There are 50,000 patches unless stated otherwise."
    ),
    remarks=(
        "Patches have mean zero. Contenders run in one thread unless their names say "
        "otherwise; the times include computing the Gram matrix of the dictionary and, if a "
        "program can return sparse codes, building them. `textbook` compares supports with "
        "the standard orthogonal matching pursuit, implemented with `numpy.linalg.lstsq`, on "
        "400 patches; another algorithm, such as the algorithm of spams, selects different "
        "supports, which are no worse. The dictionary of 2,000 atoms is Gaussian and has "
        "1,000 entries per atom."
    ),
    ours="SparseCoder",
    sizes=SIZES,
    quick_sizes=QUICK,
    warmup=("4", 600, "float64"),
    work=work,
    contenders={
        "SparseCoder": Contender(run=ours(1), peer=False, note="`transform_algorithm='omp'`"),
        "SparseCoder, 2 threads": Contender(run=ours(2), peer=False, note="`n_jobs=2`"),
        "SparseCoder, ormp": Contender(
            run=ours(1, transform_algorithm="ormp"),
            peer=False,
            note="`transform_algorithm='ormp'`, the algorithm of spams",
        ),
        "spams": Contender(
            run=spams_codes(1),
            requires="spams-bin>=2.6",
            note=(
                "is written in C++ and adds the atom that leaves the smallest residual; gets "
                "`eps=1e-3` in addition to the number of atoms, because single precision "
                "gives zero codes otherwise; the patches are stored in columns before the "
                "timing starts"
            ),
        ),
        "spams, 2 threads": Contender(
            run=spams_codes(2), requires="spams-bin>=2.6", note="`numThreads=2`"
        ),
        "scikit-learn, Gram": Contender(
            run=sklearn_gram,
            requires="scikit-learn>=1.9",
            note="`orthogonal_mp_gram`",
            sizes=(*SMALL, *DOUBLE, *QUICK),
            why_not="shown in double precision for up to 50,000 patches",
        ),
    },
    quality=quality,
    figures={
        "atoms": "mean number of atoms in a code",
        "rmse": "root mean squared residual, in grey levels",
        "textbook": "fraction of codes with exactly the atoms of the standard pursuit",
        "violations": "number of patches whose residual is above the bound",
    },
    targets=(
        at_least(
            "the same supports as the standard pursuit",
            "SparseCoder",
            "textbook",
            0.999,
            sizes=DOUBLE,
        ),
        at_most("no bound is violated", "SparseCoder", "violations", 0),
        beats("50,000 patches: no slower than spams with one thread", "spams", 1.0, USUAL),
        beats(
            "50,000 patches: 30 times as fast as scikit-learn",
            "scikit-learn, Gram",
            30.0,
            USUAL,
        ),
        beats("2,000 atoms: no slower than spams with one thread", "spams", 1.0, LARGE),
    ),
    repeat=3,
)
