"""`trusted_types` selects what estimators consist of, and nothing else."""

import pytest

from skmoderndata import trusted_types

pytestmark = pytest.mark.edge


@pytest.mark.parametrize(
    "name",
    [
        "skmoderndata.svm._l2_svc.L2SVC",
        "skmoderndata._kernelized.gram.Gram",
        "skmoderndata.kernels._strings.spectrum.PSpectrum",
        "sklearn.gaussian_process.kernels.RBF",
        "sklearn.neighbors._kd_tree.KDTree",
        "scipy.sparse._csr.csr_array",
        "numpy.dtype",
    ],
)
def test_classes_of_estimators_are_trusted(name):
    assert trusted_types([name]) == [name]


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "builtins.eval",
        "skmoderndata.svm._l2_svc.combinations",  # this module imports the name
        "skmoderndata.svm._l2_svc.compute_class_weight",
        # the name belongs to a function
        "skmoderndata._solvers.networks.hidden_layers.draw_weights",
        "skmoderndata.svm._l2_svc.NoSuchClass",
        "skmoderndata.no_such_module.L2SVC",
        "skmoderndata..os.system",
        "skmoderndata_of_somebody.Model",
        "sklearn.gaussian_process.kernels.np",
        "sklearn.utils.Bunch",
        "numpy.load",
        "L2SVC",
        "",
    ],
)
def test_other_names_are_left_out(name):
    assert trusted_types([name]) == []
    assert trusted_types([name, "numpy.dtype"]) == ["numpy.dtype"]


def test_files_of_skops():
    reason = "needs skops"
    sio = pytest.importorskip("skops.io", reason=reason)
    from tests.common.test_export import DETECTORS, REGRESSORS, TRANSFORMERS, fit, rows

    # fitted models need the types of this package; exported models need none
    for model in (*TRANSFORMERS[:3], *REGRESSORS[:2], DETECTORS[0]):
        fitted = fit(model, rows(40))
        method = "transform" if hasattr(model, "transform") else "predict"
        expected = getattr(fitted, method)(rows(20, 1))
        data = sio.dumps(fitted)
        names = sio.get_untrusted_types(data=data)
        assert trusted_types(names) == names
        again = sio.loads(data, trusted=trusted_types(names))
        assert (getattr(again, method)(rows(20, 1)) == expected).all()

        exported = sio.dumps(fitted.to_sklearn())
        assert sio.get_untrusted_types(data=exported) == []
        sio.loads(exported)
