"""Put an estimator into a pipeline of scikit-learn and tune it."""

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skmoderndata.decomposition import SparseNMF

rng = np.random.default_rng(0)
X = rng.random((40, 6))
y = rng.integers(2, size=40)
pipeline = make_pipeline(SparseNMF(n_components=3), StandardScaler(), LinearSVC())
search = GridSearchCV(pipeline, {"sparsenmf__n_components": [2, 3]}, cv=2)
search.fit(X, y)
best: int = search.best_params_["sparsenmf__n_components"]
