"""Exported models give the same values in ONNX Runtime, up to single precision."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, LinearSVC

from skmoderndata.cross_decomposition import RegularizedCCA, SparseCCA
from tests.common.test_export import (
    CLASSIFIERS,
    SEVERAL_TARGETS,
    SINGLE,
    TWO_CLASSES,
    codes_of,
    fit,
    name,
    rows,
    target_of,
)

REASON = "needs skl2onnx and onnxruntime: pip install 'skmoderndata[onnx]'"
skl2onnx = pytest.importorskip("skl2onnx", reason=REASON)
onnxruntime = pytest.importorskip("onnxruntime", reason=REASON)

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore"),
]
# Largest difference in single precision, in units of the spread of the values.
TOLERANCE = 1e-5
# Without `raw_scores` the scores of these classes are probabilities that the model does not have.
OPTIONS = {
    SVC: {"zipmap": False, "raw_scores": True},
    LinearSVC: {"raw_scores": True},
    OneVsRestClassifier: {"zipmap": False, "raw_scores": True},
    MLPClassifier: {"zipmap": False},
    LogisticRegression: {"zipmap": False},
}
# Steps without a converter in skl2onnx 1.20.
NO_CONVERTER = ("RBFSampler",)


def converted(exported, X, *, double=False):
    """Convert an exported model, and return what ONNX Runtime computes for rows."""
    types = skl2onnx.common.data_types
    tensor = types.DoubleTensorType if double else types.FloatTensorType
    model = exported.steps[-1][1] if hasattr(exported, "steps") else exported
    options = {id(model): OPTIONS[type(model)]} if type(model) in OPTIONS else None
    onnx = skl2onnx.convert_sklearn(
        exported, initial_types=[("X", tensor([None, X.shape[1]]))], options=options
    )
    session = onnxruntime.InferenceSession(
        onnx.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": X.astype(np.float64 if double else np.float32)})


def assert_close(values, expected):
    spread = float(np.ptp(expected, axis=0).max()) or 1.0
    values = values.reshape(expected.shape)
    assert np.abs(values - expected).max() <= TOLERANCE * spread


def compare(exported, X):
    outputs = converted(exported, X)
    if not is_classifier(exported):
        if hasattr(exported, "decision_function"):
            assert_close(outputs[1], exported.decision_function(X))
            return
        method = "transform" if hasattr(exported, "transform") else "predict"
        assert_close(outputs[0], getattr(exported, method)(X))
        return

    method = "decision_function" if hasattr(exported, "decision_function") else "predict_proba"
    if isinstance(exported, LogisticRegression):
        method = "predict_proba"
    expected = getattr(exported, method)(X)
    scores = outputs[1]
    if expected.ndim == 1 and scores.shape[1] == 2:
        scores = scores[:, 1]
    assert_close(scores, expected)

    # pairs of classes may receive equally many votes; the label then depends on the library
    whole = np.sort(np.atleast_2d(expected), axis=1)
    clear = np.ones(len(X), dtype=bool)
    if isinstance(exported, SVC) and expected.ndim == 2:
        clear = whole[:, -1] - whole[:, -2] > 2 / 3
    assert np.array_equal(outputs[0][clear], exported.predict(X)[clear])
    assert clear.mean() > 0.9


def convertible(model):
    return not any(step in repr(model) for step in NO_CONVERTER)


@pytest.mark.parametrize("model", [m for m in SINGLE if convertible(m)], ids=name)
def test_single_precision(model):
    compare(fit(model, rows(60)).to_sklearn(), rows(200, 1).astype(np.float32))


@pytest.mark.parametrize("labels", [[4, 7, 1], ["c", "a", "b"]], ids=["integers", "strings"])
@pytest.mark.parametrize("model", [m for m in CLASSIFIERS if "ovo" not in repr(m)], ids=name)
def test_three_classes(model, labels):
    X = rows(60)
    fitted = fit(model, X, np.array(labels)[codes_of(X, 3)])
    compare(fitted.to_sklearn(), rows(200, 1).astype(np.float32))


@pytest.mark.parametrize("model", SEVERAL_TARGETS, ids=name)
def test_several_targets(model):
    X = rows(60)
    exported = fit(model, X, np.column_stack([X[:, 0] + 3, X[:, 1] * X[:, 2]])).to_sklearn()
    compare(exported, rows(200, 1).astype(np.float32))


@pytest.mark.parametrize("model", [RegularizedCCA(1), SparseCCA(1)], ids=name)
def test_views(model):
    X = rows(60)
    parts = fit(model, X[:, :2], X[:, 2:]).to_sklearn()
    new = rows(200, 1).astype(np.float32)
    compare(parts["view1"], new[:, :2])
    compare(parts["view2"], new[:, 2:])
    compare(parts["predict"], new[:, :2])


@pytest.mark.parametrize("model", [SINGLE[0], SINGLE[1], TWO_CLASSES[0]], ids=name)
def test_double_precision(model):
    X = rows(60, offset=1e4)
    fitted = fit(model, X, target_of(model, X))
    new = rows(200, 1, offset=1e4)
    exported = fitted.to_sklearn()
    method = "predict_proba" if is_classifier(model) else "transform"
    assert_close(converted(exported, new, double=True)[-1], getattr(exported, method)(new))
