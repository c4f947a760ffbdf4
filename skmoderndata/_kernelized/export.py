"""Fitted support vector machines of scikit-learn, built from kernel expansions."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import SVC, SVR, OneClassSVM

from skmoderndata._estimator.compat import set_support_vectors
from skmoderndata._estimator.export import (
    cannot_export,
    centring,
    described,
    in_pipeline,
    refuse_absent_classes,
)
from skmoderndata._kernelized.gram import Gram
from skmoderndata._solvers.common.typing import Array

# Kernels of scikit-learn's machines, and their parameters.
MACHINE_KERNELS = {
    "linear": (),
    "rbf": ("gamma",),
    "poly": ("gamma", "coef0", "degree"),
    "polynomial": ("gamma", "coef0", "degree"),
    "sigmoid": ("gamma", "coef0"),
}
# Maximum ratio of the squared norms of support vectors before and after centring for which the
# machine is exported without centring: distances then lose fewer than four digits.
UNCENTRED_UP_TO = 1e3


class KernelFunctions(NamedTuple):
    """Functions ``f_i(x) = sum_j coef_ij k(x, z_j) + intercept_i``.

    Attributes
    ----------
    parameters : dict
        Kernel and its parameters, as scikit-learn's machines name them.
    samples : array or sparse matrix of shape (n_support, n_features)
        Samples z.
    coef : ndarray of shape (n_functions, n_support)
        Coefficients.
    intercept : ndarray of shape (n_functions,)
        Offsets.
    """

    parameters: dict[str, Any]
    samples: Any
    coef: Array
    intercept: Array


def kernel_functions(
    model: Any, gram: Gram, samples: Any, coef: Array, intercept: Any
) -> KernelFunctions:
    """Return functions of a kernel; ValueError if scikit-learn's machines lack the kernel."""
    parameters = _parameters(model, gram)
    rows: Any = samples if sparse.issparse(samples) else np.asarray(samples)
    return KernelFunctions(
        parameters,
        rows.astype(np.float64),
        np.atleast_2d(coef),
        np.atleast_1d(np.asarray(intercept, dtype=np.float64)),
    )


def machine_functions(model: Any) -> KernelFunctions:
    """Return the functions of a fitted kernel machine, whose kernel is not linear."""
    return kernel_functions(
        model, model._gram, model._basis, model.dual_coef_, model.intercept_
    )


def _parameters(model: Any, gram: Gram) -> dict[str, Any]:
    """Return the kernel and its parameters as scikit-learn's machines name them."""
    kernel = gram.kernel
    if gram.precomputed:
        raise cannot_export(
            model,
            "a precomputed kernel refers to the training samples, which the model does not have",
            "Fit a model with a kernel that can be evaluated, such as 'rbf'",
        )
    if not isinstance(kernel, str) or kernel not in MACHINE_KERNELS:
        raise cannot_export(
            model,
            f"scikit-learn's support vector machines do not have the kernel {kernel!r}",
            "Use 'linear', 'poly', 'rbf' or 'sigmoid', or save the model itself with pickle or "
            "skops",
        )

    # libsvm has integer degrees
    parameters = {name: gram.params[name] for name in MACHINE_KERNELS[kernel]}
    degree = parameters.get("degree", 1)
    if degree != int(degree):
        raise cannot_export(
            model, f"scikit-learn's machines round degree={degree!r}", "Use an integer degree"
        )
    if "degree" in parameters:
        parameters["degree"] = int(degree)

    return {"kernel": "poly" if kernel == "polynomial" else kernel, **parameters}


def support_vector_regressor(
    model: Any, functions: KernelFunctions, *, is_table: bool = False
) -> Any:
    """Return an `SVR`, or a `MultiOutputRegressor` if the targets are a table."""
    centre, functions = _centred(functions)
    machines = [
        _set(SVR(**functions.parameters), functions, coef[None], offset)
        for coef, offset in zip(functions.coef, functions.intercept, strict=True)
    ]
    if not is_table:
        return _after(model, centre, machines[0])
    several = MultiOutputRegressor(machines[0])
    several.estimators_ = machines
    return _after(model, centre, several)


def support_vector_classifier(model: Any, functions: KernelFunctions) -> Any:
    """Return an `SVC` for one function; one function per class become a `OneVsRestClassifier`."""
    refuse_absent_classes(model)
    centre, functions = _centred(functions)
    two = len(functions.coef) == 1
    labels = model.classes_ if two else np.array([0, 1])

    # build one machine for each function
    machines = []
    for coef, offset in zip(functions.coef, functions.intercept, strict=True):
        machine = SVC(**functions.parameters)
        # samples that vote for the first class come first
        n_first = int(np.count_nonzero(coef < 0))
        used = np.argsort(coef > 0, kind="stable")
        used = used[coef[used] != 0]
        own = functions._replace(samples=functions.samples[used])
        n_support = [n_first, len(used) - n_first]
        machines.append(_set(machine, own, coef[None, used], offset, labels, n_support))
    if two:
        return _after(model, centre, machines[0])

    rest = OneVsRestClassifier(machines[0])
    rest.estimators_ = machines
    rest.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(model.classes_)
    # the copy keeps the type of the labels
    rest.label_binarizer_.classes_ = model.classes_.copy()
    # in older versions of scikit-learn, `classes_` is a property that reads the binarizer
    if not hasattr(rest, "classes_"):
        rest.classes_ = model.classes_.copy()
    return _after(model, centre, rest)


def one_against_one(model: Any, functions: KernelFunctions) -> Any:
    """Return an `SVC` for functions of all pairs of classes, whose samples are sorted by class.

    Positive values mean the second class if there are two, otherwise the first class of a pair.
    """
    machine = SVC(
        decision_function_shape=model.decision_function_shape,
        break_ties=model.break_ties,
        **functions.parameters,
    )
    centre, functions = _centred(functions, ("rbf", "linear"))
    coef = functions.coef
    n_classes = len(model.classes_)
    if n_classes > 2:
        coef = _by_class(functions.coef, model.n_support_)
    svc = _set(machine, functions, coef, functions.intercept, model.classes_, model.n_support_)
    return _after(model, centre, svc)


def _by_class(coef: Array, n_support: Array) -> Array:
    """Rearrange coefficients of pairs (i, j), i < j, as libsvm stores them.

    Samples of class i have their coefficient for the pair in row j - 1, and samples of class j in
    row i.
    """
    n_classes = len(n_support)
    stops = np.cumsum(n_support)
    segments = [slice(a, b) for a, b in zip(stops - n_support, stops, strict=True)]
    rows = np.zeros((n_classes - 1, coef.shape[1]))
    pairs = zip(*np.triu_indices(n_classes, 1), strict=True)
    for values, (i, j) in zip(coef, pairs, strict=True):
        rows[j - 1, segments[i]] = values[segments[i]]
        rows[i, segments[j]] = values[segments[j]]
    return rows


def one_class_machine(model: Any, functions: KernelFunctions, offset: float) -> Any:
    """Return a `OneClassSVM` whose `score_samples` is the function, and its threshold `offset`."""
    centre, functions = _centred(functions)
    machine = OneClassSVM(**functions.parameters)
    _set(machine, functions, functions.coef, functions.intercept[0] - offset)
    machine.offset_ = float(offset)
    return _after(model, centre, machine)


def _set(
    machine: Any,
    functions: KernelFunctions,
    coef: Array,
    intercept: Any,
    labels: Any = None,
    n_support: Any = None,
) -> Any:
    """Fit a machine to a few rows of the right form, and replace its function."""
    samples = functions.samples
    number = 2 if labels is None else len(labels)
    rows = np.zeros((number, samples.shape[1]))
    rows[:, 0] = np.arange(number)
    form: Any = sparse.csr_matrix(rows) if sparse.issparse(samples) else rows
    machine.fit(form, np.arange(number) if labels is None else labels)

    set_support_vectors(machine, samples, n_support, coef, np.atleast_1d(intercept))
    return machine


def _centred(
    functions: KernelFunctions, kernels: tuple[str, ...] = ("rbf",)
) -> tuple[Array | None, KernelFunctions]:
    """Return a point to subtract from all samples, or None, and the functions of the rest.

    scikit-learn's machines lose digits if the samples are far from the origin, because they
    compute distances from inner products.
    """
    parameters, samples, coef, intercept = functions
    if parameters["kernel"] not in kernels or sparse.issparse(samples):
        return None, functions
    if len(samples) == 0:
        return None, functions

    centre = samples.mean(axis=0)
    near = samples - centre
    if (samples**2).sum() <= UNCENTRED_UP_TO * (near**2).sum():
        return None, functions
    if parameters["kernel"] == "linear":
        # the coefficients of each function sum to zero, so centring changes only the intercept
        intercept = intercept + (coef @ near) @ centre
    return centre, KernelFunctions(parameters, near, coef, intercept)


def _after(model: Any, centre: Array | None, machine: Any) -> Any:
    """Return a machine, after a step that subtracts the centre unless it is None."""
    if centre is not None:
        machine.n_features_in_ = model.n_features_in_
        return in_pipeline(model, [("center", centring(centre)), ("machine", machine)])
    for part in getattr(machine, "estimators_", ()):
        described(model, part)
    return described(model, machine)
