"""A renamed parameter works under both names, and warns under the old one."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.deprecation import renamed_parameters
from skmoderndata._estimator.doors import parameters_are_named

pytestmark = pytest.mark.edge

OLD_NAME = r"Shift: 'amount' is now 'shift'; the old name will be removed in version 0\.3"


@renamed_parameters(removed_in="0.3", amount="shift")
class Shift(Base):
    @parameters_are_named
    def __init__(self, shift=0.0, *, power=1):
        self.shift = shift
        self.power = power

    def fit(self, X, y=None):
        self.shift_ = self.shift
        return self

    def score(self, X, y=None):
        return -abs(self.shift_ - 2.0)


def test_constructor_accepts_both_names():
    with pytest.warns(FutureWarning, match=OLD_NAME) as caught:
        model = Shift(amount=2.0, power=3)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.get_params() == Shift(2.0, power=3).get_params() == {"shift": 2.0, "power": 3}
    assert clone(model).get_params() == model.get_params()
    assert repr(model) == "Shift(power=3, shift=2.0)"


def test_set_params_accepts_both_names():
    with pytest.warns(FutureWarning, match=OLD_NAME):
        model = Shift().set_params(amount=2.0)
    assert model.set_params(power=5).shift == 2.0

    pipeline = make_pipeline(StandardScaler(), Shift())
    with pytest.warns(FutureWarning, match=OLD_NAME):
        pipeline.set_params(shift__amount=4.0)
    assert pipeline[-1].shift == 4.0


def test_search_accepts_both_names():
    X = np.zeros((10, 2))
    with pytest.warns(FutureWarning, match=OLD_NAME):
        search = GridSearchCV(Shift(), {"amount": [1.0, 2.0]}, cv=2).fit(X)
    assert search.best_estimator_.shift == 2.0
    assert GridSearchCV(Shift(), {"shift": [1.0, 2.0]}, cv=2).fit(X).best_score_ == 0


def test_both_names_together_raise():
    with pytest.raises(TypeError, match="'shift' and its old name 'amount': pass one"):
        Shift(shift=1.0, amount=2.0)
    with pytest.raises(TypeError, match="has no parameter 'amuont'"):
        Shift(amuont=2.0)


def test_models_stored_under_the_old_name_are_loaded():
    model = Shift(2.0).fit([[0.0]])
    vars(model)["amount"] = vars(model).pop("shift")
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.get_params() == {"shift": 2.0, "power": 1}
    assert loaded.shift_ == 2.0
