"""Boolean matrices of overlapping blocks, by the generator of PyBMF's examples."""

import contextlib
import io

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.away.task import Task
from skmoderndata.cluster import DiscreteBasis

K = 5


def load():
    """Return pairs of a noisy matrix and the matrix without noise."""
    from PyBMF.generators import BlockMatrixGenerator

    draws = []
    for seed in range(3):
        blocks = BlockMatrixGenerator(m=300, n=100, k=K, overlap_flag=True)
        with contextlib.redirect_stdout(io.StringIO()):
            blocks.generate(seed=seed)
        X = np.asarray(blocks.X.todense() if hasattr(blocks.X, "todense") else blocks.X) > 0
        rng = np.random.default_rng(seed)
        draws.append((X ^ (rng.random(X.shape) < 0.05), X))
    return draws


def f1(truth, Z, U):
    return f1_score(truth.ravel(), (Z.astype(int) @ U.astype(int) > 0).ravel())


def theirs(draws):
    from PyBMF.models import Asso
    from scipy.sparse import csr_matrix

    found = []
    for X, truth in draws:
        model = Asso(tau=0.5, k=K)
        # keep PyBMF from writing pictures
        model.show_matrix = lambda *args, **kwargs: None
        quiet = io.StringIO()
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            model.fit(
                csr_matrix(X.astype(float)),
                task="reconstruction",
                verbose=False,
                display=False,
                show_logs=False,
                save_model=False,
                show_result=False,
            )
        found.append(f1(truth, model.U.toarray() > 0, model.V.toarray().T > 0))
    return found


def ours(draws):
    models = [(truth, DiscreteBasis(K).fit(X)) for X, truth in draws]
    return [f1(truth, m.assignments_, m.components_) for truth, m in models]


TASK = Task(
    name="pybmf_generated",
    origin="PyBMF, examples",
    link="https://pypi.org/project/PyBMF/",
    program="PyBMF Asso(tau=.5, k=5)",
    data="three matrices of 300 x 100 with five blocks and 5 % noise, by PyBMF's generator",
    licence="MIT",
    measure="F1 score of the recovered Boolean matrix",
    better="higher",
    published=None,
    expected="ours",
    load=load,
    theirs=theirs,
    ours=ours,
)
