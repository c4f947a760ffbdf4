"""The race at sizes drawn at random: draws, and which peers count."""

import numpy as np
import pytest

from benchmarks.race.families import FAMILIES
from benchmarks.race.runner import Draw, Family, _compare, log_uniform, run_family, summary


def family(**settings):
    entries = {
        "ours": lambda data: 1.0,
        "worse": lambda data: 1.2,
        "equal": lambda data: 1.0005,
    }
    return Family(
        title="toy",
        sizes=lambda rng: {"n": log_uniform(rng, 5, 500)},
        work=lambda sizes, rng: rng.normal(size=sizes["n"]),
        contenders=settings.pop("contenders", entries),
        value=lambda data, result: result,
        slack=1e-3,
        means="value, within 1e-3",
        **settings,
    )


@pytest.mark.edge
def test_only_peers_that_reach_our_value_count():
    draw = Draw({"n": 5})
    draw.seconds = {"ours": 2.0, "worse": 0.1, "equal": 1.0}
    draw.values = {"ours": 1.0, "worse": 1.2, "equal": 1.0005}
    _compare(family(), draw)
    assert (draw.ratio, draw.peer) == (0.5, "equal")

    # without an equal peer there is no ratio, and the draw is not lost
    alone = Draw(
        {"n": 5}, seconds={"ours": 2.0, "worse": 0.1}, values={"ours": 1, "worse": 1.2}
    )
    _compare(family(), alone)
    assert alone.ratio is None
    assert summary([draw, alone])[2:] == (1, 1)


@pytest.mark.edge
def test_slack_may_be_in_points():
    assert family(relative=False).is_equal(1e-4, 0.0)
    assert not family().is_equal(1e-4, 0.0)
    assert family().is_equal(-1.0, -1.0005)


@pytest.mark.invariance
def test_sizes_depend_on_the_seed_and_the_family():
    settings = {"n_draws": 4, "n_rounds": 1, "budget": 1.0, "say": lambda text: None}

    def sizes(name, seed):
        return [draw.sizes["n"] for draw in run_family(name, family(), seed=seed, **settings)]

    assert sizes("toy", 0) == sizes("toy", 0)
    assert sizes("toy", 0) != sizes("toy", 1)
    assert sizes("toy", 0) != sizes("other", 0)
    assert all(5 <= n <= 500 for n in sizes("toy", 2))


@pytest.mark.edge
def test_contenders_that_fail_are_listed():
    def broken(data):
        raise RuntimeError("no licence")

    entries = {"ours": lambda data: 1.0, "broken": broken}
    settings = {"seed": 0, "n_draws": 1, "n_rounds": 1, "budget": 1.0}
    toy = family(contenders=entries)
    (draw,) = run_family("toy", toy, say=lambda text: None, **settings)
    assert draw.failed == {"broken": "RuntimeError: no licence"}
    assert draw.ratio is None


@pytest.mark.edge
@pytest.mark.parametrize("name", FAMILIES)
def test_first_contender_is_ours_and_sizes_have_names(name):
    from skmoderndata import all_estimators

    first = next(iter(FAMILIES[name].contenders))
    assert first in {cls.__name__ for cls in all_estimators()}
    assert len(FAMILIES[name].contenders) >= 2
    assert FAMILIES[name].sizes(np.random.default_rng(0))["n"] > 0
