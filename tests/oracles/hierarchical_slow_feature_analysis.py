"""Slow features layer by layer on whole arrays: fields cut out one by one, nothing in chunks."""

import numpy as np
from scipy.linalg import eigh
from sklearn.preprocessing import PolynomialFeatures


def slow_features(sequences, n_out):
    """Slow features by ``A w = delta C w``: mean, directions in rows, delta values.

    A is the second moment of the steps, C the covariance, which is to be regular.
    """
    rows = np.vstack(sequences)
    mean = rows.mean(axis=0)
    centred = rows - mean
    steps = np.vstack([np.diff(s, axis=0) for s in sequences])
    delta, W = eigh(steps.T @ steps / len(steps), centred.T @ centred / len(rows))
    return mean, W.T[:n_out], delta[:n_out]


def expand(Z, degree):
    return PolynomialFeatures(degree, include_bias=False).fit_transform(Z)


def patches(images, field, stride):
    """One array (rows, values) per field, in C order of the fields."""
    _, height, width, _ = images.shape
    cut = []
    for top in range(0, height - field[0] + 1, stride[0]):
        for left in range(0, width - field[1] + 1, stride[1]):
            patch = images[:, top : top + field[0], left : left + field[1]]
            cut.append(patch.reshape(len(images), -1))
    return cut


def train_and_apply(images, ids, layers, *, clip=4.0):
    """Layers of nodes on patches of images [Franzius, Sprekeler and Wiskott 2007].

    A node is linear slow feature analysis, expansion, and slow feature analysis again. Returns the
    outputs (rows, height, width, channels) of the last layer, and the delta values of its nodes.
    """
    for layer in layers:
        cut = patches(images, layer["field"], layer["stride"])
        groups = [cut] if layer["weight_sharing"] else [[patch] for patch in cut]
        outputs = []
        deltas = []
        for group in groups:
            apart = [patch[ids == i] for patch in group for i in np.unique(ids)]
            mean, W, _ = slow_features(apart, layer["n_pre"])

            def reduce(patch, mean=mean, W=W, degree=layer["degree"]):
                return expand(np.clip((patch - mean) @ W.T, -clip, clip), degree)

            mean2, W2, delta = slow_features(
                [reduce(patch) for patch in apart], layer["n_out"]
            )
            outputs += [(reduce(patch) - mean2) @ W2.T for patch in group]
            deltas.append(delta)
        down = (images.shape[1] - layer["field"][0]) // layer["stride"][0] + 1
        images = np.stack(outputs, axis=1).reshape(len(images), down, -1, layer["n_out"])
    return images, deltas
