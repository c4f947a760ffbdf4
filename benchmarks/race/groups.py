"""Families of clusters and Boolean factors."""

from typing import NamedTuple

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

from benchmarks.peers.case import Contender
from benchmarks.race.runner import Family, log_uniform


class Groups(NamedTuple):
    """A table of overlapping groups, its matrix of distances or kernel values, and k."""

    X: np.ndarray
    M: np.ndarray
    k: int


def group_sizes(rng):
    """Draw rows, columns and clusters; matrices of 3,000 rows take 72 MB."""
    n = log_uniform(rng, 100, 3000)
    return {"n": n, "p": log_uniform(rng, 5, 600), "k": log_uniform(rng, 3, min(40, n // 10))}


def blobs(sizes, rng):
    """Gaussian groups, whose centres are about as far apart as the rows of a group."""
    centres = rng.normal(size=(sizes["k"], sizes["p"]))
    which = rng.integers(sizes["k"], size=sizes["n"])
    return centres[which] + rng.normal(size=(sizes["n"], sizes["p"]))


def distances(sizes, rng):
    X = blobs(sizes, rng)
    return Groups(X, euclidean_distances(X), sizes["k"])


def k_medoids(data):
    from skmoderndata.cluster import KMedoids

    model = KMedoids(data.k, metric="precomputed").fit(data.M)
    return model.medoid_indices_


def faster_pam(data):
    from kmedoids import fasterpam

    found = fasterpam(data.M, data.k, init="random", random_state=0, n_cpu=1)
    return np.asarray(found.medoids, dtype=int)


def loss(data, medoids):
    return float(data.M[:, medoids].min(axis=1).sum())


def gamma(X):
    """Return the default of `gamma="scale"`."""
    return 1 / (X.shape[1] * X.var())


def kernel_values(sizes, rng):
    X = blobs(sizes, rng)
    return Groups(X, rbf_kernel(X, gamma=gamma(X)), sizes["k"])


def kernel_k_means(data):
    from skmoderndata.cluster import KernelKMeans

    return KernelKMeans(data.k, random_state=0).fit(data.X).labels_


def plain_kernel_k_means(n_starts):
    """Return a contender: products with indicators in every pass, from random labels."""

    def run(data):
        K = rbf_kernel(data.X, gamma=gamma(data.X))
        results = []
        for seed in range(n_starts):
            labels = np.random.default_rng(seed).integers(data.k, size=len(K))
            for _ in range(300):
                H = np.eye(data.k)[labels]
                H /= np.maximum(H.sum(axis=0), 1)
                S = K @ H
                new = (np.einsum("ij,ij->j", H, S) - 2 * S).argmin(axis=1)
                if np.array_equal(new, labels):
                    break
                labels = new
            results.append(labels)
        return min(results, key=lambda labels: inertia(data._replace(M=K), labels))

    return Contender(run=run, peer=False)


def k_means(data):
    from sklearn.cluster import KMeans

    return KMeans(data.k, n_init=10, random_state=0).fit(data.X).labels_


def tslearn(data):
    from tslearn.clustering import KernelKMeans

    settings = {"n_init": 5, "max_iter": 300, "random_state": 0}
    kernel = {"kernel": "rbf", "kernel_params": {"gamma": gamma(data.X)}}
    return KernelKMeans(data.k, **settings, **kernel).fit(data.X).labels_


def inertia(data, labels):
    """Return the objective of kernel k-means."""
    H = np.eye(data.k)[labels]
    within = np.einsum("ij,ij->j", H, data.M @ H) / np.maximum(H.sum(axis=0), 1)
    return float(np.trace(data.M) - within.sum())


class Bits(NamedTuple):
    """Boolean rows, the rows without noise, and the number of sources."""

    X: np.ndarray
    clean: np.ndarray
    k: int


def bit_sizes(rng):
    return {
        "n": log_uniform(rng, 200, 5000),
        "p": log_uniform(rng, 12, 1000),
        "k": log_uniform(rng, 3, 8),
        "noise": float(rng.uniform(0.0, 0.25)),
        "density": float(rng.uniform(0.15, 0.35)),
    }


def bits(sizes, rng):
    """ORs of sources, with a share of the bits replaced by fair coins."""
    n = sizes["n"]
    p = sizes["p"]
    k = sizes["k"]
    sources = rng.random((k, p)) < sizes["density"]
    assigned = rng.random((n, k)) < sizes["density"]
    clean = assigned.astype(int) @ sources > 0
    coins = rng.random((n, p)) < sizes["noise"]
    return Bits(np.where(coins, rng.random((n, p)) < 0.5, clean), clean, k)


def multi_assignment(data):
    from skmoderndata.cluster import MultiAssignmentClustering

    model = MultiAssignmentClustering(data.k, random_state=0).fit(data.X)
    return model.inverse_transform(model.transform(data.X))


def discrete_basis(data):
    from skmoderndata.cluster import DiscreteBasis

    model = DiscreteBasis(data.k).fit(data.X)
    return model.inverse_transform(model.transform(data.X))


def thresholded_nmf(data):
    from sklearn.decomposition import NMF

    model = NMF(data.k, init="nndsvda", random_state=0)
    return model.fit_transform(data.X.astype(float)) @ model.components_ > 0.5


def wrong_bits(data, predicted):
    return 100 * float(np.mean(np.asarray(predicted, dtype=bool) != data.clean))


FAMILIES = {
    "KMedoids": Family(
        title="`KMedoids`, distances given",
        sizes=group_sizes,
        work=distances,
        contenders={
            "KMedoids": k_medoids,
            "kmedoids fasterpam": Contender(run=faster_pam, requires="kmedoids"),
        },
        value=loss,
        slack=1e-3,
        means="sum of distances from the medoids, within .1 %",
        reason=(
            "The greedy start reads the whole matrix for each cluster, while `kmedoids` starts "
            "from random medoids. For a few hundred rows, or for very few clusters, use "
            "`kmedoids.fasterpam`."
        ),
    ),
    "KernelKMeans": Family(
        title="`KernelKMeans`",
        sizes=group_sizes,
        work=kernel_values,
        contenders={
            "KernelKMeans": kernel_k_means,
            "NumPy, 1 start, by hand": plain_kernel_k_means(1),
            "NumPy, 10 starts, by hand": plain_kernel_k_means(10),
            "KMeans": k_means,
            "tslearn": Contender(run=tslearn, requires="tslearn"),
        },
        value=inertia,
        slack=1e-4,
        means="inertia in feature space, within 1e-4",
        reason=(
            "For 160 rows, checks take longer than one start by hand. On one large table, "
            "`KMeans` finds the same partition without a kernel matrix. Use `KMeans` if the "
            "groups are convex."
        ),
    ),
    "MultiAssignmentClustering": Family(
        title="`MultiAssignmentClustering`",
        sizes=bit_sizes,
        work=bits,
        contenders={
            "MultiAssignmentClustering": multi_assignment,
            "DiscreteBasis": Contender(run=discrete_basis, peer=False),
            "NMF, thresholded": thresholded_nmf,
        },
        value=wrong_bits,
        slack=0.5,
        relative=False,
        means="wrong bits compared with the rows without noise, within half a point",
        reason=(
            "The likelihood of all sets of sources is annealed from several starts, while "
            "`DiscreteBasis` needs milliseconds for about as many wrong bits. Use "
            "`DiscreteBasis`, unless you need probabilities or the noise model."
        ),
    ),
}
