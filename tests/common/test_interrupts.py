"""An interrupt changes nothing: the estimator is what it was, or what the whole call makes of it.

A trace function raises KeyboardInterrupt or MemoryError at a line or a return somewhere in the
package, as Ctrl-C and a full memory do. Ctrl-C inside compiled code is heard when it returns.
"""

import copy
import dataclasses
import inspect
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel

import skmoderndata
from skmoderndata._kernelized import online as _online
from skmoderndata.cluster import MultiAssignmentClustering, NeuralGas
from skmoderndata.decomposition import CCIPCA
from skmoderndata.gaussian_process import SparseGaussianProcessRegressor
from skmoderndata.kernels import PSpectrum
from skmoderndata.linear_model import KernelPerceptron, _kernel_perceptron
from skmoderndata.neighbors import DTWNeighborsClassifier
from skmoderndata.ranking import KernelPRank
from tests.common.instances import INSTANCES, outputs, sample, target

PACKAGE = str(Path(skmoderndata.__file__).parent)
# Functions that check whether a method exists; attribute access turns their errors into
# AttributeError.
LOOKUPS = {"_takes_parts", "_not_additive"}
POINTS = 40  # Number of interruptions of each call, for the first instance of a class.
FEWER_POINTS = 8  # Number of interruptions of `fit` for the other instances.


class Interrupt:
    """Context that counts lines and returns of the package, and raises an error at one of them."""

    # this file holds state of the process, which an error message may keep alive
    left_out = ("threads.py",)

    def __init__(self, at=None, error=KeyboardInterrupt):
        self.at = at
        self.error = error
        self.count = 0

    def __enter__(self):
        self.previous = sys.gettrace()
        sys.settrace(self._enter_function)
        return self

    def __exit__(self, *exception):
        sys.settrace(self.previous)

    def _enter_function(self, frame, event, arg):
        path = frame.f_code.co_filename
        name = frame.f_code.co_name
        inside = path.startswith(PACKAGE) and not path.endswith(self.left_out)
        return self._step if inside and name not in LOOKUPS else None

    def _step(self, frame, event, arg):
        # Python ignores an error that is raised when a discarded generator ends
        generator = frame.f_code.co_flags & inspect.CO_GENERATOR
        if event == "line" or (event == "return" and not generator):
            if self.count == self.at:
                raise self.error(f"{frame.f_code.co_filename}:{frame.f_lineno}")
            self.count += 1
        return self._step


def quietly(call, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments)


def answers(model, X):
    """Outputs for X as arrays, or nothing where the model is not fitted."""
    if set(vars(model)) <= set(model.get_params()):
        return {}
    found = quietly(outputs, model, X)
    return {name: v.toarray() if sparse.issparse(v) else v for name, v in found.items()}


def same(one, other):
    return one.keys() == other.keys() and all(
        np.array_equal(value, other[name]) for name, value in one.items()
    )


def close(one, other):
    """Whether results are equal up to the rounding of arrays at other addresses."""
    return one.keys() == other.keys() and all(
        np.allclose(value, other[name], rtol=1e-9, atol=1e-12) for name, value in one.items()
    )


def assert_all_or_nothing(model, call, more, X, *, n_points=POINTS):
    """Interrupt a call at points spread over it; `more` shows what no answer shows by itself."""
    untouched = copy.deepcopy(model)
    whole = copy.deepcopy(model)
    quietly(call, copy.deepcopy(model))  # compile the loops
    with Interrupt() as counter:
        quietly(call, whole)
    before = answers(untouched, X)
    after = answers(whole, X)
    assert not same(before, after)  # otherwise the test would not show anything

    points = np.unique(np.linspace(0, counter.count - 1, n_points).astype(int))
    for number, at in enumerate(points):
        error = (KeyboardInterrupt, MemoryError)[number % 2]
        interrupt = Interrupt(at, error)
        raised = None
        try:
            with interrupt:
                quietly(call, model)
        except error as caught:
            raised = caught
        # arrays at other addresses are rounded differently, so fits may need fewer steps
        assert raised is not None or interrupt.count <= at

        found = answers(model, X)
        if raised is None or not same(found, before):  # the call had already ended
            assert close(found, after), raised
            model = copy.deepcopy(untouched)

    quietly(more, model)
    quietly(more, untouched)
    assert same(answers(model, X), answers(untouched, X))


def short(estimator):
    """Return a variant of an estimator that has `partial_fit` and takes little time, or None."""
    few = {"alpha": ("loo", 0.1), "max_iter": (None, 2), "n_init": (None, 1)}
    settings = estimator.get_params()
    changed = {
        name: value for name, (old, value) in few.items()
        if name in settings and (old is None or settings[name] == old)
    }  # fmt: skip
    if isinstance(settings.get("centers"), str):
        changed["centers"] = sample()[::5]
    for name, value in (("random_state", 0), ("n_nonzero_coefs", 2)):
        if name in settings and settings[name] is None:
            changed[name] = value
    estimator = clone(estimator).set_params(**changed)
    return estimator if hasattr(estimator, "partial_fit") else None


STREAMS = [one for estimator in INSTANCES if (one := short(estimator)) is not None]
MERGERS = [one for one in STREAMS if hasattr(one, "merge")]
# Streams whose problem is solved on first access.
LAZY = [one for one in STREAMS if hasattr(one, "_SOLUTION")]


def rows(model, n, seed):
    """Rows of positive numbers that differ enough to change every model, or of bits."""
    rng = np.random.default_rng(seed)
    X = np.exp(rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6)) / 2)
    return X > 1 if isinstance(model, MultiAssignmentClustering) else X


def partial_fit(n, seed):
    def call(model):
        X = rows(model, n, seed)
        y = target(model, X)
        if y is None:
            return model.partial_fit(X)
        classes = {"classes": [0, 1]} if is_classifier(model) else {}
        return model.partial_fit(X, y, **classes)

    return call


def fit(n, seed):
    def call(model):
        X = rows(model, n, seed)
        return model.fit(X, target(model, X))

    return call


def begun(estimator, seed=0):
    model = clone(estimator)
    quietly(partial_fit(40, seed), model)
    return model


def interrupt(estimator, call, **options):
    more = partial_fit(9, seed=2)
    X = rows(estimator, 20, seed=3)
    assert_all_or_nothing(begun(estimator), call, more, X, **options)


@pytest.mark.parametrize("estimator", STREAMS, ids=repr)
def test_interrupted_partial_fit(estimator):
    interrupt(estimator, partial_fit(25, seed=1))


@pytest.mark.parametrize("estimator", STREAMS, ids=repr)
def test_interrupted_fit(estimator):
    first = next(one for one in STREAMS if type(one) is type(estimator)) is estimator
    interrupt(estimator, fit(30, seed=1), n_points=POINTS if first else FEWER_POINTS)


@pytest.mark.parametrize("estimator", MERGERS, ids=repr)
def test_interrupted_merge(estimator):
    if isinstance(estimator, SparseGaussianProcessRegressor):
        points = rows(estimator, 7, seed=4)
        estimator = clone(estimator).set_params(kernel=RBF(), inducing=points, optimizer=None)
    # first layers differ if they were drawn from different rows
    if "standardize" in estimator.get_params():
        estimator = clone(estimator).set_params(standardize=False)
    other = begun(estimator, seed=1)
    interrupt(estimator, lambda model: model.merge(other))


@pytest.mark.parametrize("estimator", LAZY, ids=repr)
def test_interrupted_first_prediction(estimator):
    """Attributes that are solved at the first access are solved after an interrupt."""
    X = rows(estimator, 20, seed=3)
    expected = answers(begun(estimator), X)
    model = begun(estimator)
    with Interrupt() as counter:
        answers(model, X)
    for at in np.unique(np.linspace(0, counter.count - 1, POINTS).astype(int)):
        model = begun(estimator)
        with pytest.raises(KeyboardInterrupt), Interrupt(at):
            answers(model, X)
        assert same(answers(model, X), expected)


def online_machines():
    """Every route of the two machines that go through blocks of samples."""
    yield from (KernelPRank(average=True), KernelPRank(budget=7))
    yield from (KernelPerceptron(), KernelPerceptron(average=True), KernelPerceptron("linear"))
    for policy in ("project", "oldest", "smallest"):
        yield KernelPerceptron(budget=7, budget_policy=policy)


def labelled(kind, n, seed):
    """Samples of three classes in no order, for several blocks."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = rng.integers(3, size=n)
    if kind == "sparse":
        X = sparse.csr_array(np.where(X > 0, X, 0.0))
    if kind == "strings":
        X = ["".join("abc"[i] for i in row) for row in rng.integers(3, size=(n, 6))]
    return X, y


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(_online, "BLOCK_SAMPLES", 8)
    monkeypatch.setattr(_kernel_perceptron, "BLOCK_SAMPLES", 8)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", ["rows", "sparse", "strings"])
@pytest.mark.parametrize("machine", online_machines(), ids=repr)
def test_interrupted_between_blocks(machine, kind):
    if kind == "strings":
        machine = clone(machine).set_params(kernel=PSpectrum(2))

    def stream(seed):
        X, y = labelled(kind, 30, seed)
        return lambda model: model.partial_fit(X, y, classes=[0, 1, 2])

    model = stream(0)(clone(machine))
    Z = labelled(kind, 20, seed=3)[0]
    n_points = POINTS if kind == "rows" else FEWER_POINTS
    assert_all_or_nothing(model, stream(1), stream(2), Z, n_points=n_points)


class Failing:
    """Kernel that raises at one of its calls."""

    def __init__(self):
        self.calls = 0
        self.at = None

    def __call__(self, X, Y):
        self.calls += 1
        if self.calls == self.at:
            raise MemoryError("from the kernel")
        return rbf_kernel(X, Y, gamma=0.3)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "machine", [m for m in online_machines() if m.kernel != "linear"], ids=repr
)
def test_kernel_that_raises(machine):
    kernel = Failing()
    twin = clone(machine).set_params(kernel=lambda X, Y: rbf_kernel(X, Y, gamma=0.3))
    model = clone(machine)
    model.kernel = kernel  # `set_params` of a copy would be counted separately
    Z = labelled("rows", 20, seed=9)[0]
    for call in range(1, 8):
        X, y = labelled("rows", 30, seed=call)
        kernel.calls = 0
        kernel.at = call
        with pytest.raises(MemoryError, match="from the kernel"):
            model.partial_fit(X, y, classes=[0, 1, 2])
        assert same(answers(model, Z), answers(twin, Z))
        kernel.at = None
        model.partial_fit(X, y, classes=[0, 1, 2])
        twin.partial_fit(X, y, classes=[0, 1, 2])
    assert same(answers(model, Z), answers(twin, Z))


def test_arrays_of_unequal_lengths_never_reach_compiled_code():
    X, y = labelled("rows", 30, seed=0)
    model = KernelPRank(average=True).fit(X, y)
    stream = model._state.stream
    shorter = stream.function._replace(late=stream.function.late[:3])
    model._state = model._state._replace(stream=dataclasses.replace(stream, function=shorter))
    with pytest.raises(ValueError, match="late has length"):
        model.partial_fit(X, y)


def shorter(model, name, field):
    """Cut the last row of an array that a model keeps."""
    state = getattr(model, name)
    setattr(model, name, state._replace(**{field: getattr(state, field)[:-1]}))


def test_states_of_unequal_lengths_are_rejected():
    X = sample()
    model = CCIPCA(2).partial_fit(X)
    shorter(model, "_state", "mean")
    with pytest.raises(ValueError, match="mean has length 5 instead of 6"):
        model.partial_fit(X)
    neighbours = DTWNeighborsClassifier().fit(list(X), np.arange(40) % 2)
    shorter(neighbours, "_index", "lower")
    with pytest.raises(ValueError, match="lower has length"):
        neighbours.predict(list(X))
    gas = NeuralGas(3).partial_fit(X)
    gas.cluster_centers_ = gas.cluster_centers_[:, :4]
    with pytest.raises(ValueError, match="centers has length 4"):
        gas.partial_fit(X)
