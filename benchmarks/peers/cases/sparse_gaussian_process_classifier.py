"""Gaussian process classification through inducing inputs, on three tables and a larger one."""

import numpy as np

from benchmarks.peers import Case, Contender, Target, none_faster

# Largest difference of log losses that counts as equal.
CLOSE = 0.01
# Maximum number of L-BFGS steps of a peer that optimises all parameters together.
STEPS = 300


def work(size, rng):
    """Standardised table; every third sample is held out."""
    from sklearn import datasets
    from sklearn.preprocessing import StandardScaler

    name, n_inducing = size
    if name == "generated":
        X, y = datasets.make_classification(
            3000, 10, n_informative=6, n_clusters_per_class=3, flip_y=0.1, random_state=0
        )
    else:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = rng.permutation(len(X))
    X = StandardScaler().fit_transform(X)[order]
    y = y[order]

    # train on two thirds of the samples
    held_out = np.arange(len(X)) % 3 == 0
    return {
        "X": X[~held_out],
        "y": y[~held_out],
        "new": X[held_out],
        "truth": y[held_out],
        "n_inducing": n_inducing,
        "length": np.sqrt(X.shape[1]),
    }


def quality(data, probabilities):
    from sklearn.metrics import log_loss

    return {"loss": float(log_loss(data["truth"], probabilities))}


def covariance(data):
    """Return a constant times one Gaussian: all contenders optimise both."""
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    return ConstantKernel(1.0) * RBF(data["length"])


def ours(data):
    from skmoderndata.gaussian_process import SparseGaussianProcessClassifier

    model = SparseGaussianProcessClassifier(
        covariance(data), n_inducing=data["n_inducing"], random_state=0
    )
    return model.fit(data["X"], data["y"]).predict_proba(data["new"])


def exact(data):
    from sklearn.gaussian_process import GaussianProcessClassifier

    model = GaussianProcessClassifier(covariance(data))
    return model.fit(data["X"], data["y"]).predict_proba(data["new"])


def gpflow_svgp(data):
    import gpflow
    import tensorflow as tf

    def probability(positive):
        """Probability of one class against the rest."""
        model = gpflow.models.SVGP(
            gpflow.kernels.SquaredExponential(lengthscales=data["length"]),
            gpflow.likelihoods.Bernoulli(invlink=tf.sigmoid),
            inducing_variable=Z.copy(),
            num_data=len(X),
        )
        loss = model.training_loss_closure((X, positive[:, None].astype(float)))
        variables = model.trainable_variables
        gpflow.optimizers.Scipy().minimize(loss, variables, options={"maxiter": STEPS})
        return model.predict_y(data["new"])[0].numpy()[:, 0]

    from sklearn.cluster import KMeans

    X = np.asarray(data["X"], dtype=float)
    Z = KMeans(data["n_inducing"], n_init=1, random_state=0).fit(X).cluster_centers_
    labels = np.unique(data["y"])
    if len(labels) == 2:
        second = probability(data["y"] == labels[1])
        return np.column_stack([1 - second, second])
    each = np.column_stack([probability(data["y"] == label) for label in labels])
    return each / each.sum(axis=1, keepdims=True)


def _close(rows):
    found = {(r.contender, r.size): r.value("loss") for r in rows if r.ratio is not None}
    differences = [
        found[CASE.ours, size] - loss
        for (name, size), loss in found.items()
        if name != CASE.ours
    ]
    if not differences:
        return None, "no other contender measured"
    worst = max(differences)
    return worst <= CLOSE, f"largest difference {worst:.3g}"


CASE = Case(
    title="Sparse Gaussian process classification",
    question=(
        "How long does it take to compute the class probabilities of a Gaussian process, and how "
        "good are they?"
    ),
    remarks="All contenders are trained on two thirds of each table, with standardised "
    "inputs. The covariance is a constant times a Gaussian with one length scale; both the "
    "constant and the length scale are optimised. With several classes, one process for each "
    "class separates this class from the rest. GPflow optimises the posterior, the covariance and "
    "the inducing inputs together, starting from the centres of k-means.",
    ours="SparseGaussianProcessClassifier",
    sizes={
        "breast cancer, 379 x 30, 50 inducing": ("breast_cancer", 50),
        "wine, 118 x 13, 50 inducing": ("wine", 50),
        "iris, 100 x 4, 30 inducing": ("iris", 30),
        "one label in ten wrong, 2,000 x 10, 100 inducing": ("generated", 100),
    },
    quick_sizes={"iris, 100 x 4, 30 inducing": ("iris", 30)},
    warmup=("iris", 5),
    work=work,
    contenders={
        "SparseGaussianProcessClassifier": Contender(
            run=ours, peer=False, note="the default parameters"
        ),
        "GaussianProcessClassifier": Contender(
            run=exact,
            requires="scikit-learn>=1.9",
            note="Laplace's method on all samples",
        ),
        "GPflow": Contender(
            run=gpflow_svgp,
            requires="gpflow>=2.9",
            note=(
                "`SVGP` with a logistic link, optimised by L-BFGS with at most "
                f"{STEPS} iterations"
            ),
        ),
    },
    quality=quality,
    figures={"loss": "log loss on held-out samples"},
    targets=(
        Target(
            text="log loss at most .01 above the log loss of any other contender",
            check=_close,
        ),
        none_faster("no peer is faster", qualifies=lambda row: "loss" in row.quality),
    ),
    repeat=3,
)
