"""Attempts on probabilities of many rows: logistic regression on curved features, trees."""

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler


def nystroem(inputs):
    """LogisticRegression on Nystroem features."""
    model = make_pipeline(
        StandardScaler(),
        Nystroem(n_components=300, random_state=0),
        LogisticRegression(max_iter=300),
    )
    grid = {"nystroem__gamma": [0.03, 0.1, 0.3], "logisticregression__C": [1, 10, 100]}
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=3).fit(inputs.X, inputs.y)
    return search.predict_proba(inputs.X_new)[:, 1]


def trees(inputs):
    """HistGradientBoostingClassifier."""
    model = HistGradientBoostingClassifier(early_stopping=True, max_iter=500, random_state=0)
    grid = {"learning_rate": [0.05, 0.1], "max_leaf_nodes": [6, 15]}
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=3).fit(inputs.X, inputs.y)
    return search.predict_proba(inputs.X_new)[:, 1]


def network(inputs):
    """MLPClassifier with early stopping."""
    model = MLPClassifier((50, 50), early_stopping=True, max_iter=100, random_state=0)
    model = make_pipeline(StandardScaler(), model)
    return model.fit(inputs.X, inputs.y).predict_proba(inputs.X_new)[:, 1]


def splines(inputs):
    """LogisticRegression on products of splines."""
    model = make_pipeline(
        SplineTransformer(n_knots=4),
        PolynomialFeatures(2, interaction_only=True, include_bias=False),
        StandardScaler(),
        LogisticRegression(C=0.1, max_iter=300),
    )
    return model.fit(inputs.X, inputs.y).predict_proba(inputs.X_new)[:, 1]
