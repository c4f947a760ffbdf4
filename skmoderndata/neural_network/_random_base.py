"""Base of the networks with a random hidden layer: weights, standardised inputs, pruning."""

from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.blocks_input import block_of, blocks_of
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    Interval,
    StrOptions,
)
from skmoderndata._estimator.export import cannot_export, network
from skmoderndata._estimator.validation import dense
from skmoderndata._solvers.common.arrays import as_numpy, move_array, namespace
from skmoderndata._solvers.networks.forward_selection import forward_selection
from skmoderndata._solvers.networks.hidden_layers import (
    ACTIVATIONS,
    column_moments,
    draw_weights,
    join_moments,
    standard_deviations,
    standardised_layer,
)
from skmoderndata.neural_network._base import RidgeNetwork

# Number of rows at the beginning of a stream whose means and deviations standardise all rows.
ROWS_OF_SCALING = 200

# Values of input_scale that "loo" compares; at a value of 1, the arguments of the neurons are of
# order one.
SCALES = tuple(2.0**i for i in range(-3, 4))

# Number of standard deviations of an input that are scaled to 1: nearly all inputs then lie in the
# range of the neurons' intercepts. On seven tables of scikit-learn, a value of 3 came within .012
# of the best accuracy or r^2 that any value from 1 to 4 reached.
DEVIATIONS = 3.0


# Activations of scikit-learn's perceptrons, with their names in scikit-learn.
EXPORTED_ACTIVATIONS = {
    "identity": "identity",
    "relu": "relu",
    "sigmoid": "logistic",
    "tanh": "tanh",
}

RANDOM_LAYER = {
    "n_hidden": [Interval(Integral, 0, None, closed="left")],
    "activation": [StrOptions(set(ACTIVATIONS)), callable],
    "weight_distribution": [StrOptions({"uniform", "normal", "orthogonal"})],
    "input_scale": [StrOptions({"loo"}), POSITIVE],
    "direct_links": ["boolean"],
    "standardize": ["boolean", tuple],
    "alpha": [StrOptions({"loo"}), NON_NEGATIVE],
    "alphas": ["array-like", None],
    "fit_intercept": ["boolean"],
    "prune": [StrOptions({"loo"}), None],
    "batch_size": [AT_LEAST_ONE, None],
    "random_state": ["random_state"],
    "n_jobs": N_JOBS,
}


class RandomNetwork(RidgeNetwork):
    """First layer of random weights; with `direct_links` the inputs join its outputs."""

    _SAME = ("activation", "direct_links", "fit_intercept")
    _SCALING = ", and standardize=False or one pair of means and deviations"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = not callable(self.activation)
        return tags

    def _open(self, X, Y, w, rng):
        p = X.shape[1]
        L = int(self.n_hidden)
        if L == 0 and not self.direct_links:
            raise ValueError(
                f"{type(self).__name__} needs n_hidden of at least 1 without direct_links, got 0."
            )

        self._beginning = None
        searched = self.input_scale == "loo"
        scale = 1.0 if searched else self.input_scale
        W, b = draw_weights(rng, p, L, law=self.weight_distribution, scale=scale)
        self._place(X, w, W, b)
        self.input_scale_ = self._scale_layer(X, Y, w, rng) if searched else float(scale)
        if self.standardize is True:
            self._beginning = X[:0, :], Y[:0, :], w[:0], W, b
        if self.prune is not None:
            self._prune(X, Y, w)

    def _scale_layer(self, X, Y, w, rng):
        """Multiply the weights and intercepts by the factor of best leave-one-out score."""
        layers = [
            {
                "hidden_weights_": scale * self.hidden_weights_,
                "hidden_intercepts_": scale * self.hidden_intercepts_,
            }
            for scale in SCALES
        ]
        best = self._best_layer(layers, X, Y, w, rng)
        vars(self).update(layers[best])
        return SCALES[best]

    def _place(self, X, w, W, b):
        """Set the layer with the weights W and b for standardised inputs."""
        mean, std = self._scaling(X, w)
        self.input_mean_ = self.input_std_ = None
        if mean is not None:
            mean = as_numpy(mean)
            std = as_numpy(std)
            W, b = standardised_layer(W, b, mean, DEVIATIONS * std)
            self.input_mean_ = move_array(mean, X)
            self.input_std_ = move_array(std, X)

        dtype = None if sparse.issparse(X) else X.dtype
        self.hidden_weights_ = move_array(W, X, dtype)
        self.hidden_intercepts_ = move_array(b, X, dtype)

    def _scaling(self, X, w):
        """Return means and standard deviations of the columns, or None without standardising."""
        if self.standardize is False:
            return None, None
        if isinstance(self.standardize, tuple):
            return self._given_scaling(X.shape[1])
        moments = column_moments(X, w)
        xp = namespace(w)
        eps = float(xp.finfo(X.dtype).eps)
        std = standard_deviations(moments, eps)
        return moments[1], std

    def _given_scaling(self, p):
        pair = [np.asarray(values, dtype=np.float64) for values in self.standardize]
        shapes = [values.shape for values in pair]
        if shapes != [(p,), (p,)] or not (pair[1] > 0).all():
            raise ValueError(
                f"{type(self).__name__}: standardize must be True, False, or a pair of arrays, "
                f"the mean and the positive standard deviation of each of the {p} features."
            )
        return pair

    def _settle(self, X, Y, w, total):
        """While few rows have been seen, restart with all of them, standardised again."""
        if self._beginning is None:
            return X, Y, w, total
        # 1. Collect all samples so far
        X_seen, Y_seen, w_seen, W, b = self._beginning
        xp = namespace(w)
        if w_seen.shape[0]:
            X = _stacked(X_seen, X)
            Y = xp.concat([Y_seen, Y], axis=0)
            w = xp.concat([w_seen, w], axis=0)

        # 2. Build the layer from the first samples of positive weight
        (weighted,) = xp.nonzero(w > 0)
        few = weighted[:ROWS_OF_SCALING]
        rows = X[few, :] if sparse.issparse(X) else xp.take(X, few, axis=0)
        self._place(rows, w[few], W, b)
        settled = few.shape[0] >= ROWS_OF_SCALING
        self._beginning = None if settled else (X, Y, w, W, b)
        return X, Y, w, None

    def _parameters_of_blocks(self, X, sample_weight):
        """Standardise all blocks by the moments of all rows."""
        if self.standardize is not True:
            return {}
        aligned = () if sample_weight is None else (sample_weight,)
        blocks = blocks_of(self, X, *aligned, dtype="numeric", accept_sparse=self._SPARSE)
        (moments,) = blocks.sum(_moments_of_block)
        single = blocks.arrays[0].dtype == np.float32
        dtype = np.float32 if single else np.float64
        eps = float(np.finfo(dtype).eps)
        std = standard_deviations(moments.values, eps)
        return {"standardize": (moments.mean, std)}

    def _prune(self, X, Y, w):
        """Keep the neurons that forward selection chooses."""
        H = as_numpy(self._neurons(X)).astype(np.float64)
        Y = as_numpy(Y)
        w = as_numpy(w)
        n_neurons = H.shape[1]
        selection = forward_selection(
            H, Y, w, max_columns=n_neurons, intercept=self.fit_intercept
        )
        neurons = np.sort(selection.chosen)
        if not len(neurons):
            neurons = np.arange(min(1, n_neurons))

        xp = namespace(self.hidden_weights_)
        index = move_array(neurons, self.hidden_weights_)
        self.hidden_weights_ = xp.take(self.hidden_weights_, index, axis=1)
        self.hidden_intercepts_ = xp.take(self.hidden_intercepts_, index, axis=0)

    def _not_additive(self):
        if self.prune is not None:
            return "cannot prune, because all samples choose the neurons. Set prune=None."
        if self.input_scale == "loo":
            return (
                "needs a number as input_scale: `input_scale_` of a fit on a subset, or 1.0."
            )
        return None

    def _neurons(self, X):
        Z = X @ self.hidden_weights_ + self.hidden_intercepts_
        activation = self.activation
        if not callable(activation):
            activation = ACTIVATIONS[activation]
        return activation(Z)

    def _layer(self, X):
        H = self._neurons(X)
        if not self.direct_links:
            return H

        xp = namespace(H)
        inputs = dense(X)
        if self.input_mean_ is not None:
            inputs = (inputs - self.input_mean_) / (DEVIATIONS * self.input_std_)
        H = xp.astype(H, inputs.dtype, copy=False)
        return xp.concat([inputs, H], axis=1)

    def to_sklearn(self):
        """Return the model as a multi-layer perceptron of scikit-learn, with the same predictions.

        Returns
        -------
        network : MLPRegressor or MLPClassifier
            One hidden layer with the weights of this model. The classifier has no
            `decision_function`; its `predict_proba` is the logistic function of the values of this
            model for two classes, and their softmax for more, and is not calibrated. The regressor
            returns a one-dimensional array if the targets were a table with one column.

        Raises
        ------
        ValueError
            If a class has no samples of positive weight, or scikit-learn does not have the layer:
            it has the activations "identity", "relu", "sigmoid" (there called "logistic") and
            "tanh", and no direct links.
        """
        check_is_fitted(self)
        if callable(self.activation) or self.activation not in EXPORTED_ACTIVATIONS:
            raise cannot_export(
                self,
                f"scikit-learn's perceptrons do not have activation={self.activation!r}",
                f"Use one of {sorted(EXPORTED_ACTIVATIONS)}",
            )
        if self.direct_links:
            raise cannot_export(
                self,
                "scikit-learn's perceptrons have no links from the inputs to the output",
                "Use direct_links=False",
            )

        return network(
            self,
            EXPORTED_ACTIVATIONS[self.activation],
            [self.hidden_weights_, np.atleast_2d(as_numpy(self.output_coef_)).T],
            [self.hidden_intercepts_, np.atleast_1d(as_numpy(self.intercept_))],
        )

    def _n_outputs(self):
        width = self.hidden_weights_.shape[1]
        return width + self.n_features_in_ if self.direct_links else width

    def _parameters_of_layer(self):
        return as_numpy(self.hidden_weights_), as_numpy(self.hidden_intercepts_)


def _stacked(A, B):
    """Stack the rows of two arrays; the result is sparse if one of them is."""
    if sparse.issparse(A) or sparse.issparse(B):
        rows = [sparse.csr_array(A), sparse.csr_array(B)]
        return sparse.vstack(rows, format="csr")
    xp = namespace(A)
    return xp.concat([A, B], axis=0)


class _Moments:
    """Moments of the columns of some rows; `+` adds the moments of other rows."""

    def __init__(self, values):
        self.values = values

    @property
    def mean(self):
        return self.values[1]

    def __add__(self, other):
        return _Moments(join_moments(self.values, other.values))


def _moments_of_block(block):
    X = block_of(block.arrays[0])
    w = np.ones(X.shape[0])
    if block.arrays[1:]:
        w = np.asarray(block.arrays[1], dtype=np.float64)
    moments = column_moments(X, w)
    return (_Moments(moments),)
