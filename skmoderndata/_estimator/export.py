"""Fitted estimators of scikit-learn, built from coefficients.

The functions know nothing of the estimators of this package except the attributes that all of
them have: `n_features_in_`, `feature_names_in_` and, for classifiers, `classes_`. The parameters
of the new objects are not the ones that led to the coefficients: the objects predict, and a new
fit would solve another problem.
"""

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVR

from skmoderndata._estimator.compat import set_network
from skmoderndata._solvers.common.arrays import as_numpy
from skmoderndata._solvers.common.typing import Array

REMEDY = "Save the model itself with pickle or skops"


def cannot_export(model: Any, reason: str, remedy: str = REMEDY) -> ValueError:
    """Return the error that says why a model has no equal in scikit-learn."""
    return ValueError(f"{type(model).__name__}.to_sklearn: {reason}. {remedy}.")


def refuse_absent_classes(model: Any) -> None:
    """Raise ValueError if a class has only samples of weight zero: it has no function."""
    present = len(model._present_classes)
    if present < len(model.classes_):
        raise cannot_export(
            model,
            f"only {present} of {len(model.classes_)} classes have samples of positive weight",
            "Fit the model without the samples of weight zero",
        )


def described(model: Any, estimator: Any) -> Any:
    """Give a new estimator the number and the names of the features of a model; return it."""
    estimator.n_features_in_ = model.n_features_in_
    names = vars(model).get("feature_names_in_")
    if names is not None:
        estimator.feature_names_in_ = names.copy()
    return estimator


def in_pipeline(model: Any, steps: list[tuple[str, Any]]) -> Any:
    """Return the only step, or a pipeline of the steps; the first one gets the feature names."""
    described(model, steps[0][1])
    return steps[0][1] if len(steps) == 1 else Pipeline(steps)


def linear_regressor(model: Any, coef: Any, intercept: Any) -> LinearRegression:
    """Return the function ``X @ coef.T + intercept`` as a fitted `LinearRegression`.

    `model` is the estimator with the names of the features, or None for features without names.
    """
    regressor = LinearRegression()
    regressor.coef_ = np.array(coef, dtype=np.float64)
    intercept = np.array(intercept, dtype=np.float64)
    regressor.intercept_ = intercept[()]
    regressor.n_features_in_ = regressor.coef_.shape[-1]
    return regressor if model is None else described(model, regressor)


def linear_machine(model: Any, coef: Any, intercept: Any) -> LinearSVR:
    """Return the function ``X @ coef + intercept`` as a fitted `LinearSVR`."""
    machine = LinearSVR()
    machine.coef_ = np.array(coef, dtype=np.float64)
    machine.intercept_ = np.array([intercept], dtype=np.float64)
    machine.n_iter_ = model.n_iter_
    return described(model, machine)


def linear_classifier(model: Any, classifier: Any, coef: Any, intercept: Any) -> Any:
    """Set the functions ``X @ coef.T + intercept`` of an unfitted linear classifier; return it.

    Parameters
    ----------
    model : estimator
        Fitted classifier.
    classifier : LinearSVC or LogisticRegression
        Unfitted classifier.
    coef, intercept : array of shape (n_functions, n_features) and (n_functions,)
        One function for two classes, otherwise one for each class.
    """
    refuse_absent_classes(model)
    classifier.classes_ = model.classes_.copy()
    classifier.coef_ = np.array(coef, dtype=np.float64)
    classifier.intercept_ = np.array(intercept, dtype=np.float64)
    classifier.n_iter_ = model.n_iter_
    return described(model, classifier)


def projection(components: Array, mean: Array) -> PCA:
    """Return the map ``(X - mean) @ components.T`` as a fitted `PCA`.

    The rows of `components` need not be orthonormal; `transform` is the only method that makes
    sense then.
    """
    n_components, n_features = components.shape
    pca = PCA(n_components=n_components)
    pca.components_ = np.array(components, dtype=np.float64)
    pca.mean_ = np.array(mean, dtype=np.float64)
    pca.n_components_ = n_components
    pca.n_features_in_ = n_features
    pca.explained_variance_ = np.ones(n_components)
    return pca


def centring(mean: Array) -> StandardScaler:
    """Return the map ``X - mean`` as a fitted `StandardScaler`."""
    scaler = StandardScaler(with_std=False)
    scaler.mean_ = np.array(mean, dtype=np.float64)
    scaler.scale_ = scaler.var_ = None
    scaler.n_features_in_ = len(scaler.mean_)
    scaler.n_samples_seen_ = 1
    return scaler


def monomials(n_features: int, degree: int) -> PolynomialFeatures:
    """Return the monomials of degree 1 to `degree` as a fitted `PolynomialFeatures`."""
    features = PolynomialFeatures(degree, include_bias=False)
    return features.fit(np.zeros((1, n_features)))


def network(
    model: Any, activation: str, weights: list[Any], intercepts: list[Any]
) -> MLPRegressor | MLPClassifier:
    """Return a fitted network with one hidden layer.

    Parameters
    ----------
    model : estimator
        Fitted classifier, with one output for two classes and otherwise one for each class; or a
        fitted regressor.
    activation : {"identity", "logistic", "tanh", "relu"}
        Activation of the hidden layer.
    weights : list of array of shape (n_features, n_hidden) and (n_hidden, n_outputs)
        Weights of the layers.
    intercepts : list of array of shape (n_hidden,) and (n_outputs,)
        Intercepts of the layers.
    """
    classes = None
    if hasattr(model, "classes_"):
        refuse_absent_classes(model)
        classes = as_numpy(model.classes_).copy()
    cls = MLPRegressor if classes is None else MLPClassifier
    layers = [np.array(as_numpy(W), dtype=np.float64) for W in weights]
    offsets = [np.array(as_numpy(b), dtype=np.float64) for b in intercepts]

    perceptron = cls(hidden_layer_sizes=(len(offsets[0]),), activation=activation)
    set_network(perceptron, layers, offsets, classes)
    return described(model, perceptron)
