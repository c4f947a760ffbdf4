"""The race at sizes drawn at random: draws, and which peers count."""

import re

import numpy as np
import pytest

from benchmarks.peers.case import Contender
from benchmarks.race import page, results
from benchmarks.race.families import FAMILIES
from benchmarks.race.runner import Draw, Family, log_uniform, ratio, run_family, summary


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
    assert ratio(family(), draw) == (0.5, "equal")

    # without an equal peer there is no ratio, and the draw is not lost
    alone = Draw(
        {"n": 5}, seconds={"ours": 2.0, "worse": 0.1}, values={"ours": 1, "worse": 1.2}
    )
    assert ratio(family(), alone) == (None, None)
    found = summary(family(), [draw, alone])
    assert (found.lost, found.alone) == (1, 1)


@pytest.mark.edge
def test_packages_exclude_lines_by_hand():
    entries = {
        "ours": lambda data: 1.0,
        "by hand": Contender(run=lambda data: 1.0, peer=False),
        "package": Contender(run=lambda data: 1.0),
    }
    draw = Draw({"n": 5}, {"ours": 1.0, "by hand": 0.1, "package": 3.0})
    draw.values = dict.fromkeys(entries, 1.0)
    toy = family(contenders=entries)
    assert ratio(toy, draw) == (0.1, "by hand")
    assert ratio(toy, draw, packages_only=True) == (3.0, "package")

    found = summary(toy, [draw])
    assert (found.middle, found.middle_packages) == (0.1, 3.0)
    assert (found.lost, found.lost_packages) == (1, 0)


@pytest.mark.edge
def test_slack_may_be_in_points():
    assert family(relative=False).is_equal(1e-4, 0.0)
    assert not family().is_equal(1e-4, 0.0)
    assert family().is_equal(-1.0, -1.0005)


@pytest.mark.invariance
def test_sizes_depend_on_the_seed_and_the_family():
    def sizes(name, seed, numbers=(0, 1, 2, 3)):
        draws = run_family(
            name, family(), seed=seed, numbers=set(numbers), n_rounds=1, budget=1.0
        )
        return [draw.sizes["n"] for _, draw in draws]

    assert sizes("toy", 0) == sizes("toy", 0)
    assert sizes("toy", 0) != sizes("toy", 1)
    assert sizes("toy", 0) != sizes("other", 0)
    assert all(5 <= n <= 500 for n in sizes("toy", 2))

    # a run that continues measures the same tables
    assert sizes("toy", 0, (2, 3)) == sizes("toy", 0)[2:]


@pytest.mark.edge
def test_contenders_that_fail_are_listed():
    def broken(data):
        raise RuntimeError("no licence")

    entries = {"ours": lambda data: 1.0, "broken": broken}
    toy = family(contenders=entries)
    ((number, draw),) = run_family("toy", toy, seed=0, numbers={0}, n_rounds=1, budget=1.0)
    assert number == 0
    assert draw.failed == {"broken": "RuntimeError: no licence"}
    assert ratio(toy, draw) == (None, None)


@pytest.mark.invariance
def test_stored_draws_come_back_by_number(tmp_path):
    draw = Draw({"n": 5}, {"ours": 0.123456}, {"ours": 2.0}, {"broken": "no licence"})
    results.add("toy", 7, 3, draw, tmp_path)
    results.add("toy", 7, 1, draw, tmp_path)
    seed, draws = results.read("toy", tmp_path)
    assert (seed, list(draws)) == (7, [1, 3])
    assert draws[1].seconds == {"ours": 0.123}
    assert draws[1].failed == draw.failed


@pytest.mark.edge
def test_draws_of_two_seeds_are_not_mixed(tmp_path):
    results.add("toy", 7, 0, Draw({"n": 5}), tmp_path)
    with pytest.raises(results.OtherSeed, match="seed 7, not 8"):
        results.add("toy", 8, 1, Draw({"n": 5}), tmp_path)
    assert len(results.read("toy", tmp_path)[1]) == 1


def test_page_is_written_from_the_stored_draws():
    seed, raced = page.stored()
    assert seed == page.SEED
    assert {len(draws) for draws in raced.values()} == {10}
    assert page.PAGE.read_text("utf-8") == page.page(seed, raced)


@pytest.mark.parametrize("name", FAMILIES)
def test_stored_sizes_are_drawn_from_the_seed(name):
    seed, draws = results.read(name)
    rng = np.random.default_rng([seed, *name.encode()])
    assert draws[0].sizes == FAMILIES[name].sizes(rng)


@pytest.mark.parametrize("name", FAMILIES)
def test_families_with_losses_have_a_reason(name):
    _, draws = results.read(name)
    if summary(FAMILIES[name], draws.values()).lost:
        assert re.search(r"\b[Uu]se ", FAMILIES[name].reason)


@pytest.mark.edge
@pytest.mark.parametrize("name", FAMILIES)
def test_first_contender_is_ours_and_sizes_have_names(name):
    from skmoderndata import all_estimators

    first = next(iter(FAMILIES[name].contenders))
    assert first in {cls.__name__ for cls in all_estimators()}
    assert len(FAMILIES[name].contenders) >= 2
    assert FAMILIES[name].sizes(np.random.default_rng(0))["n"] > 0
