"""A distribution over disks, circles and bars, as in MDP's tutorial on growing neural gas."""

import numpy as np

from benchmarks.away.task import Task
from benchmarks.away.tasks.mdp_logistic_map import import_mdp
from skmoderndata.cluster import NeuralGas

N_NODES = 75


def load():
    rng = np.random.RandomState(0)
    angle = 2 * np.pi * rng.rand(1400)
    radius = np.r_[np.full(700, 2.0), 0.5 * np.sqrt(rng.rand(700))]
    round_ones = radius[:, None] * np.c_[np.cos(angle), np.sin(angle)] + [6.0, -0.5]
    round_ones[700:] += [-2.0, 2.0]
    bar = rng.rand(600, 2) * [3.0, 0.3] + [-1.0, 2.0]
    return rng.permutation(np.r_[round_ones, bar])


def error(X, units):
    from sklearn.metrics import pairwise_distances_argmin_min

    return np.mean(pairwise_distances_argmin_min(X, units)[1] ** 2)


def theirs(X):
    """Show the data in batches, again and again, until all nodes are there."""
    model = import_mdp().nodes.GrowingNeuralGasNode(max_nodes=N_NODES)
    np.random.seed(0)  # noqa: NPY002 (it draws from the global generator)
    while len(model.graph.nodes) < N_NODES:
        for start in range(0, len(X), 20):
            model.train(X[start : start + 20])
    model.stop_training()
    return error(X, np.array(model.get_nodes_position()))


def ours(X):
    return error(X, NeuralGas(N_NODES, random_state=0).fit(X).cluster_centers_)


TASK = Task(
    name="mdp_neural_gas",
    origin="mdp, tutorial",
    link="https://mdp-toolkit.github.io/examples/gng/growing_neural_gas.html",
    program="MDP GrowingNeuralGasNode(max_nodes=75), batches of 20 until all are there",
    data="2,000 points generated after the tutorial, on a circle, a disk and a bar",
    licence="BSD-3-Clause",
    measure="mean squared quantisation error",
    better="lower",
    published=None,
    expected="level",
    load=load,
    theirs=theirs,
    ours=ours,
)
