"""Suggestions for thirty real tables."""

import pytest

from benchmarks import suggest as benchmark
from benchmarks.suggest_tables import TABLES
from skmoderndata._guide.suggest import problems

pytestmark = pytest.mark.recovery

# Tables whose problem comes second or third.
NOT_FIRST = set()


@pytest.mark.parametrize("name", TABLES)
def test_the_labelled_problem_comes_first(name):
    place, classes = benchmark.place_of(name)
    if name in NOT_FIRST:
        assert place in (1, 2), classes
    else:
        assert place == 0, classes


@pytest.mark.parametrize("name", TABLES)
def test_each_label_names_one_problem(name):
    labelled = [row for row in problems() if row["problem"].startswith(TABLES[name].wanted)]
    assert len(labelled) == 1
