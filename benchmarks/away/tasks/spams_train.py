"""Dictionary of image patches."""

import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

from benchmarks.away.task import Task
from skmoderndata.decomposition import FeatureSignDictionaryLearning

# Weight of the l1 norm in the test of spams.
ALPHA = 0.15


def load():
    """Return 5000 centred patches of unit norm."""
    image = load_sample_image("china.jpg").mean(axis=2) / 255
    patches = extract_patches_2d(image, (8, 8), max_patches=5000, random_state=0)
    X = patches.reshape(-1, 64)
    X = X - X.mean(axis=1, keepdims=True)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-3)


def objective(X, D):
    """Return the mean objective, with the codes computed by one program for both."""
    import spams

    D = np.asfortranarray(D.T)
    X = np.asfortranarray(X.T)
    codes = spams.lasso(X, D=D, lambda1=ALPHA, mode=2, numThreads=1)
    return (0.5 * np.sum((X - D @ codes) ** 2) + ALPHA * abs(codes).sum()) / X.shape[1]


def theirs(X):
    import spams

    D = spams.trainDL(
        np.asfortranarray(X.T),
        K=100,
        lambda1=ALPHA,
        numThreads=1,
        batchsize=400,
        iter=300,
        verbose=False,
    )
    return objective(X, D.T)


def ours(X):
    model = FeatureSignDictionaryLearning(100, alpha=ALPHA, max_iter=50, random_state=0)
    return objective(X, model.fit(X).components_)


TASK = Task(
    name="spams_train",
    origin="spams, test_dictLearn",
    link="https://thoth.inrialpes.fr/people/mairal/spams/",
    program="trainDL of spams",
    data="shipped by scikit-learn",
    licence="CC BY 2.0",
    measure="mean objective on 8 x 8 patches of an image, 100 atoms, penalty .15",
    better="lower",
    published=None,
    expected="origin",
    load=load,
    theirs=theirs,
    ours=ours,
)
