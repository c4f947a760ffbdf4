"""Attempts to know a smooth function from many rows, with its uncertainty."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import BayesianRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler


def part(inputs):
    """GaussianProcessRegressor on 1000 rows."""
    kernel = ConstantKernel() * RBF(np.ones(inputs.X.shape[1])) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True)
    return model.fit(inputs.X[:1000], inputs.y[:1000]).predict(inputs.X_new)


def scaled_by_a_part(inputs):
    """BayesianRidge on Nystroem with widths from 300 rows."""
    kernel = ConstantKernel() * RBF(np.ones(inputs.X.shape[1])) + WhiteKernel()
    process = GaussianProcessRegressor(kernel, normalize_y=True)
    process.fit(inputs.X[:300], inputs.y[:300])
    widths = process.kernel_.k1.k2.length_scale
    features = Nystroem(gamma=0.5, n_components=200, random_state=0)
    model = make_pipeline(features, BayesianRidge())
    return model.fit(inputs.X / widths, inputs.y).predict(inputs.X_new / widths)


def approximated(inputs):
    """BayesianRidge on Nystroem features."""
    features = Nystroem(gamma=0.1, n_components=500, random_state=0)
    model = make_pipeline(StandardScaler(), features, BayesianRidge())
    return model.fit(inputs.X, inputs.y).predict(inputs.X_new)


def polynomials(inputs):
    """BayesianRidge on polynomials of degree five."""
    model = make_pipeline(StandardScaler(), PolynomialFeatures(5), BayesianRidge())
    return model.fit(inputs.X, inputs.y).predict(inputs.X_new)


def boosted(inputs):
    """gradient boosting."""
    model = HistGradientBoostingRegressor(learning_rate=0.05, max_iter=400, random_state=0)
    return model.fit(inputs.X, inputs.y).predict(inputs.X_new)
