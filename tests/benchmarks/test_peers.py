"""Evidence that the peer runner measures what it says: order, absence, failure, ratios, report."""

import gc
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers import Entry, find_entries
from benchmarks.papers import __main__ as papers
from benchmarks.papers import value as paper_value
from benchmarks.peers import (
    Case,
    Contender,
    at_least,
    at_most,
    find_cases,
    none_faster,
    report,
)
from benchmarks.peers import __main__ as peers
from benchmarks.peers.memory import peak_of
from benchmarks.peers.processes import run_each
from benchmarks.peers.runner import missing, order_of_round, run_case

ROOT = Path(__file__).resolve().parents[2]
ABSENT = "no-such-distribution-anywhere>=1.0"


@pytest.fixture(scope="module", autouse=True)
def quick_collections():
    """The runner collects garbage before each measurement, without visiting old objects."""
    gc.collect()
    gc.freeze()


def toy(calls, **changes):
    """Sum numbers: ours is exact, the sloppy peer is wrong, one is absent, one fails."""

    def counted(name, function):
        def run(data):
            calls.append(name)
            return function(data)

        return run

    def failing(data):
        raise RuntimeError("no luck\ntoday")

    contenders = {
        "ours": Contender(run=counted("ours", np.sum), peer=False, note="`numpy.sum`"),
        "sloppy": counted("sloppy", lambda data: np.sum(data) + 0.5),
        "absent": Contender(run=failing, requires=ABSENT),
        "failing": counted("failing", failing),
        "small only": Contender(
            run=counted("small only", np.sum), sizes=("3",), why_not="too slow"
        ),
    }
    settings = {
        "title": "Sums",
        "question": "Who adds best?",
        "ours": "ours",
        "sizes": {"3": 3, "5": 5},
        "quick_sizes": {"3": 3},
        "warmup": 2,
        "work": lambda size, rng: rng.random(size),
        "contenders": contenders,
        "quality": lambda data, result: {"error": abs(float(result) - float(data.sum()))},
        "figures": {"error": "distance from the sum"},
        "repeat": 3,
    }
    return Case(**{**settings, **changes})


def run_toy(case, **settings):
    return run_case(case, say=lambda line: None, **settings)


def by_name(rows, size):
    return {row.contender: row for row in rows if row.size == size}


def test_rounds_rotate_and_interleave():
    calls = []
    run_toy(toy(calls), sizes=["3"])
    warm_up = calls[:4]
    rounds = calls[4:]
    assert warm_up == ["ours", "sloppy", "failing", "small only"]
    assert rounds == [
        *("ours", "sloppy", "small only"),
        *("sloppy", "small only", "ours"),
        *("small only", "ours", "sloppy"),
    ]


def test_every_contender_comes_first_equally_often():
    first = [order_of_round(["a", "b", "c"], number)[0] for number in range(6)]
    assert first == ["a", "b", "c", "a", "b", "c"]


def test_warm_up_is_not_timed_and_not_repeated_at_the_next_size():
    calls = []
    rows = run_toy(toy(calls))
    assert calls.count("ours") == 1 + 2 * 3
    assert all(len(row.seconds) == 3 for row in rows if row.contender == "ours")


def test_absent_peer_has_installation_advice():
    row = by_name(run_toy(toy([])), "3")["absent"]
    assert row.status == "not installed"
    assert row.message == f'pip install "{ABSENT}"'
    assert missing("numpy>=1") == ""


def test_failure_is_shown_on_one_line_and_other_contenders_continue():
    rows = by_name(run_toy(toy([])), "3")
    assert rows["failing"].status == "failed"
    assert rows["failing"].message == "RuntimeError: no luck today"
    assert rows["sloppy"].status == "ok"


def test_failing_quality_is_shown():
    def quality(data, result):
        raise ValueError("not a number")

    rows = by_name(run_toy(toy([], quality=quality)), "3")
    assert rows["ours"].message == "quality: ValueError: not a number"


def test_excluded_size_is_reported():
    rows = by_name(run_toy(toy([])), "5")
    assert (rows["small only"].status, rows["small only"].message) == ("left out", "too slow")


def test_quality_uses_the_same_data_for_all():
    rows = by_name(run_toy(toy([])), "5")
    assert rows["ours"].quality == {"error": 0.0}
    assert rows["sloppy"].quality["error"] == pytest.approx(0.5)


def test_contenders_cannot_spoil_the_data_of_others():
    def spoil(data):
        data[:] = 0
        return 0.0

    case = toy([], contenders={"spoiler": spoil, "ours": np.sum})
    rows = by_name(run_toy(case), "3")
    assert rows["ours"].quality["error"] == 0
    assert rows["spoiler"].quality["error"] > 0


def test_ratio_compares_medians():
    def sleep(seconds):
        return lambda data: time.sleep(seconds)

    case = toy(
        [],
        contenders={"ours": sleep(0.01), "slow": sleep(0.04)},
        quality=lambda data, result: {},
    )
    rows = by_name(run_toy(case), "3")
    assert rows["ours"].ratio == 1
    assert 2 < rows["slow"].ratio < 8


def test_prepare_is_not_timed():
    def prepare(data):
        time.sleep(0.05)
        return data

    case = toy([], contenders={"ours": Contender(run=np.sum, prepare=prepare)})
    assert max(by_name(run_toy(case), "3")["ours"].seconds) < 0.04


def test_contender_that_measures_itself():
    case = toy([], contenders={"ours": lambda data: 7.0}, seconds=lambda result: result)
    assert by_name(run_toy(case), "3")["ours"].seconds == [7.0, 7.0, 7.0]


def test_budget_ends_the_rounds():
    case = toy([], contenders={"ours": lambda data: time.sleep(0.02)}, quality=lambda *_: {})
    assert len(by_name(run_toy(case, budget=0.01), "3")["ours"].seconds) == 1


def test_warnings_and_prints_of_contenders_are_kept_off_the_screen(capsys):
    import warnings

    def loud(data):
        sys.stdout.write("iteration 1")
        warnings.warn("not converged", RuntimeWarning, stacklevel=1)
        return data.sum()

    row = by_name(run_toy(toy([], contenders={"ours": loud})), "3")["ours"]
    assert row.warned == ["RuntimeWarning"]
    assert capsys.readouterr().out == ""


def test_ours_must_be_a_contender():
    with pytest.raises(ValueError, match="ours='theirs' is not among the contenders"):
        toy([], ours="theirs")


def test_targets():
    case = toy(
        [],
        targets=(
            at_most("ours is exact", "ours", "error", 0),
            at_most("sloppy is exact", "sloppy", "error", 0.1),
            at_least("absent is there", "absent", "ratio", 1),
            none_faster(
                "nobody exact is faster", qualifies=lambda row: row.quality["error"] < -1
            ),
        ),
    )
    rows = run_toy(case)
    assert [target.check(rows)[0] for target in case.targets] == [True, False, None, None]


def test_none_faster_names_the_nearest():
    case = toy([])
    rows = run_toy(case)
    for row in rows:
        row.ratio = {"ours": 1.0, "sloppy": 0.5}.get(row.contender)
    reached, measured = none_faster("x", qualifies=lambda row: True).check(rows)
    assert reached is False
    assert measured == "nearest: sloppy at 0.5 (3)"


def test_markdown_has_one_line_per_row_and_no_seconds():
    case = toy([], excluded={"ancient": "needs Python 2"})
    rows = run_toy(case)
    for row in rows:
        row.seconds = [3.25 for _ in row.seconds]
    lines = report.markdown_table(case, rows)
    assert lines[0] == "| size | contender | time / ours | spread | error |"
    assert len(lines) == 2 + len(rows)
    assert {line.count("|") for line in lines} == {6}
    measured = report.record("toy", case, rows, command="run me", quick=False, seed=0)
    page = report.markdown(case, rows, measured)
    assert page.startswith("# Sums\n")
    assert "3.25" not in page
    for part in (
        "run me",
        "ancient",
        "needs Python 2",
        "scikit-learn",
        "small problem",
        " core",
    ):
        assert part in page


def test_terminal_shows_absence_failure_and_targets():
    case = toy([], targets=(at_most("ours is exact", "ours", "error", 0),))
    rows = run_toy(case)
    measured = report.record("toy", case, rows, command="run me", quick=False, seed=0)
    text = report.terminal("toy", case, rows, measured)
    assert f'not installed: pip install "{ABSENT}"' in text
    assert "failed: RuntimeError: no luck today" in text
    assert "[reached] ours is exact (measured: 0)" in text


def test_json_round_trip():
    case = toy([], quality=lambda data, result: {"error": float("nan")})
    rows = run_toy(case)
    measured = report.record("toy", case, rows, command="run me", quick=False, seed=0)
    told = json.loads(report.to_json(measured))
    assert told["rows"][0]["quality"] == {"error": None}
    assert told["versions"]["numpy"] == np.__version__


def test_peak_of_includes_an_array():
    size = 64 * 2**20
    assert 0.8 * size < peak_of(lambda: np.ones(size // 8).sum()) < 1.5 * size


def test_memory_is_written_in_units():
    case = toy([], memory_unit=("inputs", lambda data: float(data.nbytes)))
    rows = run_toy(case, measure=lambda contender, size: 48.0)
    assert by_name(rows, "3")["ours"].memory == 2
    assert by_name(rows, "3")["failing"].memory is None


def test_crash_and_time_out_of_one_case_do_not_end_the_run(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    programs = {
        "good": "import os; assert os.environ['OMP_NUM_THREADS'] == '1'",
        "crashing": "import os; os.abort()",
        "hanging": "import time; time.sleep(60)",
        "before": "raise SystemExit(1)",
        "last": "pass",
    }

    told = []
    failed = run_each(
        list(programs),
        lambda name: [sys.executable, "-c", programs[name]],
        timeout=3,
        done=lambda name: name == "before",
        say=told.append,
    )

    assert failed == ["crashing", "hanging"]
    assert [line.split(": ", 1)[0] for line in told] == [
        f"[{number}/5] {name}" for number, name in enumerate(programs, 1)
    ]

    assert "done, " in told[0]
    assert "failed with status -6" in told[1]
    assert "stopped after 3 s" in told[2]
    assert told[3].endswith("measured before")
    assert "done, " in told[4]


def test_resume_skips_measurements_of_the_same_command(tmp_path, monkeypatch):
    runs = []

    def pretend(names, command, *, done, say, timeout):
        runs.append([name for name in names if not done(name)])
        return []

    def measured(name, case, repeat):
        record = {
            "command": f"python -m benchmarks.peers {name}{repeat} --write-docs",
            "quick": True,
            "rows": [{"size": size} for size in case.quick_sizes],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")

    monkeypatch.setattr(peers, "run_each", pretend)
    cases = {name: find_cases()[name] for name in ("elm", "ksvd", "nu_svor")}
    arguments = [*cases, "--quick", "--output", str(tmp_path)]
    measured("elm", cases["elm"], "")
    measured("ksvd", cases["ksvd"], " --repeat 1")
    peers.main([*arguments, "--resume"])
    peers.main([*arguments])
    assert runs == [["ksvd", "nu_svor"], list(cases)]
    # a run that starts from the beginning removes the records
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize("name", find_cases())
def test_cases_hold_together(name):
    case = find_cases()[name]
    assert case.contenders[case.ours].requires == ""
    for contender in case.contenders.values():
        assert contender.note
        assert set(contender.sizes or ()) <= {*case.sizes, *case.quick_sizes}
        assert contender.sizes is None or contender.why_not
    told = {target.text for target in case.targets}
    assert len(told) == len(case.targets)


def test_discovery_loads_neither_peers_nor_estimators():
    program = (
        "import sys; from benchmarks.peers import find_cases; find_cases();"
        "print([m for m in ('pyrpca', 'tensorly', 'numba', 'cvxpy') if m in sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "[]"


def test_papers_show_printed_values_next_to_ours():
    rows = [
        paper_value("n = 3", "sum", "6", "printed", 6.0, holds=True),
        paper_value("n = 4", "sum", "10", "theory", 9.0, holds=False),
    ]
    entry = Entry(title="Sums", cites="Gauss 1786", source="told", values=lambda quick: rows)
    page = papers.markdown("gauss", entry, rows)
    assert "| n = 3 | sum | 6 | printed | 6 | yes |" in page
    assert "| n = 4 | sum | 10 | theory | 9 | **no** |" in page
    assert "python -m benchmarks.papers gauss" in page


def test_every_publication_says_where_its_values_were_read():
    for name, entry in find_entries().items():
        assert entry.source, name
        assert entry.cites, name


def test_page_lists_settings_that_are_not_reached():
    for name, entry in find_entries().items():
        for setting in entry.not_reached:
            page = ROOT / "docs" / "benchmarks" / f"paper_{name}.md"
            assert f"| {setting} |" in page.read_text(encoding="utf-8"), (name, setting)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("mevik2007", "PLS_SOURCE"),
        ("breheny2015", "GRPREG_SOURCE"),
        ("kovacs2021", "BMF_SOURCE"),
        ("sanchez2019", "ORCA_SOURCE"),
        ("zhao2019", "PYOD_SOURCE"),
    ],
)
def test_publications_without_their_data_measure_nothing(name, variable, monkeypatch):
    monkeypatch.delenv(variable, raising=False)
    entry = find_entries()[name]
    assert entry.values(True) == []
    assert f"`{variable}`" in entry.remarks


@pytest.mark.edge
def test_page_is_kept_if_nothing_is_measured(tmp_path, monkeypatch, capsys):
    entry = Entry(
        title="Sums",
        cites="Gauss 1786",
        source="told",
        values=lambda quick: [],
        remarks="Set X.",
    )
    page = tmp_path / "docs" / "benchmarks" / "paper_gauss.md"
    page.parent.mkdir(parents=True)
    page.write_text("measured before", encoding="utf-8")
    monkeypatch.setattr(papers, "ROOT", tmp_path)
    monkeypatch.setattr(papers, "find_entries", lambda: {"gauss": entry})

    assert papers.main(["gauss", "--write-docs", "--output", str(tmp_path / "build")]) == 0
    assert page.read_text(encoding="utf-8") == "measured before"
    assert "gauss: the data are not available. Set X." in capsys.readouterr().out


@pytest.mark.paper
def test_small_publication_holds():
    entry = find_entries()["hastie2015"]
    assert all(value.holds for value in entry.values(True))


def test_unknown_names_are_reported(capsys):
    assert papers.main(["nobody1999"]) == 2
    answer = capsys.readouterr().out
    assert "no entry named nobody1999; there are: " in answer
    assert "cai2010" in answer


@pytest.mark.slow
@pytest.mark.paper
@pytest.mark.parametrize("name", find_entries())
def test_published_values_hold(name):
    entry = find_entries()[name]
    values = entry.values(False)
    missed = {value.setting for value in values if not value.holds}
    # fewer values are measured if an archive is missing
    measured = {value.setting for value in values}
    # values that are reached must be removed from the list
    assert missed == set(entry.not_reached) & measured
