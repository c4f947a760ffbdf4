"""Three simulated views with one common latent variable, by CCA of many views."""

import numpy as np

from benchmarks.away.task import Task
from skmoderndata.cross_decomposition import RegularizedCCA


def load():
    """Return draws of training views and test views."""
    from cca_zoo.datasets import make_joint_data

    draws = []
    for seed in range(10):
        views = make_joint_data(
            n_samples=400,
            n_views=3,
            n_features=20,
            n_components=1,
            signal_to_noise=1.0,
            random_state=seed,
        )
        draws.append(([v[:100] for v in views], [v[100:] for v in views]))
    return draws


def correlation(scores):
    """Return the mean of the correlations of pairs of views."""
    table = np.corrcoef([np.asarray(score)[:, 0] for score in scores])
    return table[np.triu_indices(3, 1)].mean()


def theirs(draws):
    from cca_zoo.linear import MCCA

    return [correlation(MCCA(1).fit(train).transform(test)) for train, test in draws]


def ours(draws):
    found = []
    for train, test in draws:
        model = RegularizedCCA(1).fit(train)
        found.append(correlation(model.transform(test)))
    return found


TASK = Task(
    name="cca_zoo_multiview",
    origin="cca-zoo, gallery",
    link="https://cca-zoo.readthedocs.io/",
    program="cca-zoo MCCA with the default shrinkage of 0",
    data="ten draws of make_joint_data of cca-zoo",
    licence="MIT",
    measure="mean pairwise correlation of test scores, three views",
    better="higher",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
)
