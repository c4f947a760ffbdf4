"""The main job: honest folds, an honest winner, and no row that kills the others."""

import io
import json
import warnings
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from rich.console import Console
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from benchmarks.compare import run
from benchmarks.compare.__main__ import INTERRUPTED, main
from benchmarks.compare.comparison import Comparison
from benchmarks.compare.comparisons import COMPARISONS
from benchmarks.compare.problem import STEP, find_problem, known_problems
from benchmarks.compare.report import write_report
from benchmarks.compare.run import DEFAULT, QUICK, Contender, Outcome, Row, make_rows, run_rows
from benchmarks.compare.table import notes
from skmoderndata._estimator.registry import MethodCard, all_estimators, all_kernels


def against(
    path="sklearn.decomposition.PCA", problem="digits", method=(20,), baseline=(20,), **more
):
    return Comparison(
        baseline=path,
        problem=problem,
        grid={"n_components": method},
        baseline_grid={"n_components": baseline},
        **more,
    )


TOYS = {
    "Equal": against(),
    "Failing": against(),
    "Interrupted": against(),
    "Misnamed": against("sklearn.decomposition.NoSuchThing"),
    "Misplaced": against(problem="nowhere"),
    "Noisy": against(),
    "Strong": against(method=(1, 2, 20), baseline=(1, 1, 1)),
    "Watching": against(problem="image_walk", method=(3,), baseline=(3,)),
    "Weak": against(method=(1,), baseline=(20,)),
}


class Toy(PCA):
    _card = MethodCard(family="toys", cite=(), cost="")


class Strong(Toy):
    pass


class Weak(Toy):
    pass


class Equal(Toy):
    pass


class Failing(Toy):
    def fit_transform(self, X, y=None):
        raise RuntimeError("nothing works\nhere")


class Misplaced(Toy):
    pass


class Misnamed(Toy):
    pass


class Uncompared(Toy):
    pass


class Noisy(Toy):
    def fit_transform(self, X, y=None):
        warnings.warn("far away", ConvergenceWarning, stacklevel=2)
        return super().fit_transform(X)


class Interrupted(Toy):
    def fit_transform(self, X, y=None):
        raise KeyboardInterrupt


class Watching(Toy):
    """Remembers the rows and the ids that `fit` has received."""

    seen = []

    def fit(self, X, y=None, *, sequence_ids=None):
        self.seen.append((X, sequence_ids))
        return super().fit(X)

    def fit_transform(self, X, y=None, *, sequence_ids=None):
        return self.fit(X, sequence_ids=sequence_ids).transform(X)


@pytest.fixture
def compare(tmp_path):
    def call(*classes, comparisons=TOYS, more=()):
        stream = io.StringIO()
        status = main(
            ["--quick", "--n-jobs", "1", "--output", str(tmp_path), *more],
            estimators=classes,
            comparisons=comparisons,
            console=Console(file=stream, width=170),
        )
        page = (tmp_path / "index.html").read_text()
        results = json.loads((tmp_path / "results.json").read_text())
        return status, stream.getvalue(), page, results

    return call


def lines_of(text, name):
    """The two lines of a row of the table, as words."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[:1] == [name])
    return lines[start].split(), lines[start + 1].split()


def winner_in(text, name):
    """Name on the line that says "wins", or what the first line says instead."""
    winners = [words[0] for words in lines_of(text, name) if words[1:2] == ["wins"]]
    return winners[0] if winners else lines_of(text, name)[0][1]


def test_method_and_baseline_win_on_their_problems(compare):
    status, text, page, results = compare(Strong, Weak, Equal, Uncompared)
    assert status == 0
    assert winner_in(text, "Strong") == "Strong"
    assert winner_in(text, "Weak") == "PCA"
    assert winner_in(text, "Equal") == "equal"
    assert "Uncompared" not in text
    # both searches try the same number of candidates, although here all candidates are equal
    assert "unequal budget" not in text
    assert [row["winner"] for row in results["rows"]] == ["method", "baseline", "equal"]
    assert "<b>PCA wins.</b>" in page
    assert "<b>Equal within 0.01.</b>" in page
    assert "3 comparisons: 1 win, 1 loss, 1 equal, 0 undecided." in page
    assert "All: 1 win, 1 loss, 1 equal, 0 undecided." in text


def test_page_is_well_formed_and_needs_no_other_file(compare):
    _, text, page, results = compare(Weak)
    root = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))
    (picture,) = root.iter("img")
    assert picture.get("src").startswith("data:image/webp;base64,")
    assert len(page) < 100_000  # a page of a hundred rows should stay below 3 MB
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 2 * QUICK.n_outer
    assert not list(root.iter("link"))
    (script,) = root.iter("script")
    assert script.get("src") is None
    assert page.index("The verdict rests on") < page.index('<table class="full sortable">')
    assert "index.html" in text.splitlines()[-1]
    for package in ("python", "numpy", "scipy", "scikit-learn", "skmoderndata"):
        assert f"{package} {results['versions'][package]}" in page
    assert "500 digits of 8 x 8 pixels" in page


def test_results_contain_every_fold(compare):
    _, text, _, results = compare(Strong)
    method, baseline = results["rows"][0]["contenders"]
    assert (method["name"], baseline["name"]) == ("Strong", "PCA")
    # the quick run takes the two values in the middle
    assert method["grid"] == {"n_components": [2, 20]}
    assert method["params"] == {"random_state": 0}
    assert len(method["folds"]) == len(baseline["folds"]) == QUICK.n_outer
    assert all(fold["best_params"] == {"n_components": 20} for fold in method["folds"])
    scores = np.array([fold["score"] for fold in method["folds"]])
    shown = lines_of(text, "Strong")[0]
    assert " ".join([f"{scores.mean():.3f}", "+-", f"{scores.std(ddof=1):.3f}"]) in " ".join(
        shown
    )


def test_progress_is_a_line_per_task_without_a_terminal(compare):
    _, text, _, _ = compare(Weak)
    assert "[ 1/10] Weak on digits, fold 1 of 5: 0." in text
    assert "[10/10] PCA on digits, fold 5 of 5: 0." in text


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (Failing, "Failing, outer fold 1: RuntimeError: nothing works here"),
        (Misplaced, "no problem 'nowhere' in benchmarks/compare/problems; known: ["),
        (Misnamed, "has no attribute 'NoSuchThing'"),
    ],
)
def test_failing_row_is_named_and_other_rows_continue(compare, cls, message):
    status, text, page, results = compare(cls, Weak)
    assert status == 1
    assert winner_in(text, cls.__name__) == "failed"
    assert message in text
    assert winner_in(text, "Weak") == "PCA"
    assert [row["state"] for row in results["rows"]] == ["failed", "finished"]
    assert message in results["rows"][0]["error"]
    ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))


def test_failing_plot_is_named(compare, monkeypatch):
    def plot(fig, methods, data, test):
        raise ValueError("no ink")

    problem = find_problem("digits")
    monkeypatch.setattr(run, "find_problem", lambda name: _with_plot(problem, plot))
    status, text, page, results = compare(Weak)
    assert status == 1
    assert "the plot failed: ValueError: no ink" in text
    assert "no ink" in page
    assert results["rows"][0]["winner"] == "baseline"
    assert results["rows"][0]["plot_error"] == "the plot failed: ValueError: no ink"


def _with_plot(problem, plot):
    return type(problem)(**{**vars(problem), "plot": plot})


def test_warnings_are_counted_not_shown(compare):
    status, text, page, results = compare(Noisy)
    # each outer fold fits one candidate on the inner folds, and then the refit
    count = QUICK.n_outer * (QUICK.n_inner + 1)  # the warm-up is not counted
    assert status == 0
    assert f"Noisy on digits: Noisy: {count} x ConvergenceWarning" in text
    assert f"Noisy: {count} x ConvergenceWarning" in page
    assert results["rows"][0]["contenders"][0]["warnings"] == {"ConvergenceWarning": count}


def test_unequal_budget_is_reported(compare):
    greedy = {"Equal": against(method=(2, 20), baseline=(20,))}
    _, text, _, _ = compare(Equal, comparisons=greedy)
    assert "unequal budget: 2 candidates against 1" in text


def test_interrupt_writes_what_is_finished(compare):
    status, text, page, results = compare(Weak, Interrupted, Strong)
    assert status == INTERRUPTED
    assert [row["state"] for row in results["rows"]] == ["finished", "not run", "not run"]
    assert winner_in(text, "Weak") == "PCA"
    assert "Interrupted: the report contains what was finished." in text
    assert "Interrupted: only what was finished is shown." in page


def test_only(compare):
    _, _, _, results = compare(Weak, Strong, Equal, more=["--only", "Strong", "Weak"])
    assert [row["method"] for row in results["rows"]] == ["Strong", "Weak"]


def test_only_reports_known_names(compare, capsys):
    with pytest.raises(SystemExit) as stop:
        compare(Weak, Strong, Uncompared, more=["--only", "Wek"])
    assert stop.value.code == 2
    assert "no comparison named Wek; known: Strong, Weak" in capsys.readouterr().err


def test_unwritable_output_is_reported_before_the_work(compare, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SystemExit) as stop:
        compare(Interrupted, more=["--output", str(tmp_path / "file" / "below")])
    assert stop.value.code == 2
    assert "--output" in capsys.readouterr().err


def test_search_sees_no_row_of_the_outer_fold_and_ids_follow_their_rows(monkeypatch):
    seen = []
    monkeypatch.setattr(Watching, "seen", seen)
    rows = make_rows([Watching], QUICK, TOYS)
    (row,) = rows
    run_rows(rows, QUICK)
    assert row.state == "finished"
    data = row.data
    id_of = {tuple(x): walk for x, walk in zip(data.X, data.groups, strict=True)}
    n_fits = QUICK.n_inner + 1
    warm_up, *seen = seen
    assert len(seen) == n_fits * QUICK.n_outer
    assert len(warm_up[0]) < len(seen[0][0]) / 2
    for fold, (_, test) in enumerate(row.splits):
        held_out = set(data.groups[test])
        for X, ids in seen[fold * n_fits : (fold + 1) * n_fits]:
            assert held_out.isdisjoint(ids)
            walks, n_rows = np.unique(ids, return_counts=True)
            assert_array_equal(n_rows, [np.sum(data.groups == walk) for walk in walks])
            assert_array_equal([id_of[tuple(x)] for x in X], ids)


def test_workers_reach_the_same_scores(monkeypatch):
    monkeypatch.setattr(PCA, "_card", Toy._card, raising=False)
    comparisons = {"PCA": against(problem="corrupted_digits")}
    scores = []
    for n_jobs in (1, 2):
        rows = make_rows([PCA], QUICK, comparisons)
        run_rows(rows, QUICK, n_jobs=n_jobs)
        assert rows[0].state == "finished"
        scores.append(rows[0].scores(rows[0].method))
    assert_array_equal(*scores)


def filled_row(method_scores, baseline_scores, n_train=80, n_test=20):
    contenders = [
        Contender(
            cls, {}, {}, {i: Outcome(score=s, fit_seconds=1.0) for i, s in enumerate(scores)}
        )
        for cls, scores in ((Strong, method_scores), (PCA, baseline_scores))
    ]
    splits = [(np.arange(n_train), np.arange(n_test))] * len(method_scores)
    return Row("Strong", "digits", *contenders, splits=splits)


def test_winner_by_the_corrected_interval():
    # differences 1, 2, 3, 4, 5: mean 3, variance 2.5; t(0.975, 4) = 2.7764451 from tables
    row = filled_row([1.0, 2.0, 3.0, 4.0, 5.0], [0.0] * 5)
    half_width = 2.7764451 * np.sqrt(2.5 * (1 / 5 + 20 / 80))
    assert_allclose(row.difference, (3, half_width), rtol=1e-7)
    assert half_width == pytest.approx(2.945, abs=1e-3)
    assert row.winner == "method"
    row = filled_row([0.9, 1.9, 2.9, 3.9, 4.9], [0.0] * 5)
    assert (row.winner, row.shown) == ("undecided", "below 2.9")


@pytest.mark.parametrize(
    ("method", "baseline", "winner"),
    [
        ([0.9, 0.91, 0.92], [0.5, 0.52, 0.51], "method"),
        ([0.5, 0.52, 0.51], [0.9, 0.91, 0.92], "baseline"),
        ([0.9, 0.8, 0.7], [0.9, 0.8, 0.7], "equal"),
        # the difference is decided but too small to matter
        ([0.905, 0.805, 0.705], [0.9, 0.8, 0.7], "equal"),
        ([0.9, 0.5, 0.7], [0.8, 0.8, 0.4], "undecided"),
        ([0.9, 0.9, 0.9], [0.8, 0.8, 0.8], "method"),
        ([0.9], [0.1], "undecided"),  # the noise cannot be estimated from one fold
    ],
)
def test_winner(method, baseline, winner):
    assert filled_row(method, baseline).winner == winner


@pytest.mark.parametrize(
    ("seconds", "faster"),
    [
        ([0.5, 0.51, 0.49], "method"),
        ([2.0, 2.1, 1.9], "baseline"),
        ([1.1, 1.09, 1.1], "equal"),  # times within a factor of 1.25 are equal
        ([0.3, 3.0, 1.0], "undecided"),
    ],
)
def test_verdict_on_time(seconds, faster):
    row = filled_row([0.9] * 3, [0.9] * 3)
    for fold, value in enumerate(seconds):
        row.method.outcomes[fold] = Outcome(score=0.9, fit_seconds=value)
    assert row.faster == faster
    assert_allclose(row.time_ratio[0], 1 / np.prod(seconds) ** (1 / 3))


def test_folds_are_drawn_again_if_the_problem_requests_it(monkeypatch):
    problem = replace(find_problem("digits"), n_repeats=3)
    monkeypatch.setattr(run, "find_problem", lambda name: problem)
    (once,) = make_rows([Weak], QUICK, TOYS)
    (often,) = make_rows([Weak], DEFAULT, TOYS)
    assert len(once.splits) == QUICK.n_outer
    assert len(often.splits) == 3 * DEFAULT.n_outer
    draws = [often.splits[i : i + DEFAULT.n_outer] for i in range(0, 30, DEFAULT.n_outer)]
    for draw in draws:
        tested = np.concatenate([test for _, test in draw])
        assert_array_equal(np.sort(tested), np.arange(len(often.data.X)))
    firsts = {tuple(draw[0][1]) for draw in draws}
    assert len(firsts) == 3  # each repetition shuffles the rows again


def test_repeated_folds_share_their_rows():
    # the variance of the mean is the variance between folds times 1 / k + n_test / n_train
    scores = [1.0, 2.0, 3.0, 4.0, 5.0]
    once = filled_row(scores, [0.0] * 5)
    often = filled_row(scores * 3, [0.0] * 15)
    variances = [2.5 * (1 / 5 + 1 / 4), 15 * 2 / 14 * (1 / 15 + 1 / 4)]
    students = [2.7764451, 2.1447867]  # t(0.975, 4) and t(0.975, 14) from tables
    expected = [t * np.sqrt(variance) for t, variance in zip(students, variances, strict=True)]
    assert_allclose([once.difference[1], often.difference[1]], expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("values", "best", "ends"),
    [
        ([1, 2, 3], [3, 3, 2], {"n_components": 3}),
        ([1, 2, 3], [1, 3, 2], {}),  # most folds do not choose a value at an end of the grid
        ([1, 2, 3], [2, 2, 2], {}),
        ([1, 2], [2, 2, 2], {}),  # the grid has no middle
        (["a", "b", "c"], ["c", "c", "c"], {}),  # the values have no order
        ([1, 2, 3], [], {}),  # the run was interrupted before the first fold
    ],
)
def test_best_value_at_the_end_of_a_grid_is_reported(values, best, ends):
    row = filled_row([0.9] * len(best), [0.8] * len(best))
    row.method.grid = {"n_components": values}
    for fold, value in enumerate(best):
        row.method.outcomes[fold] = Outcome(
            score=0.9, fit_seconds=1.0, best_params={"n_components": value}
        )
    assert row.method.at_grid_ends == ends
    said = [f"Strong: best at the end of the grid, {k} = {v}" for k, v in ends.items()]
    assert [note for note in notes(row) if "end of the grid" in note] == said


@pytest.mark.parametrize(("best", "ends"), [(3, {}), (1, {"n_components": 1})])
def test_natural_bound_of_a_grid_is_not_reported(best, ends):
    bounded = {"Equal": against(method=(1, 2, 3), bounds={"n_components": 3})}
    (row,) = make_rows([Equal], DEFAULT, bounded)
    for fold in range(4):
        outcome = Outcome(score=0.9, fit_seconds=1.0, best_params={"n_components": best})
        row.method.outcomes[fold] = outcome
    assert row.method.at_grid_ends == ends


def test_declared_bounds_are_ends_of_their_grids():
    for name, comparison in COMPARISONS.items():
        for grid, bounds in (
            (comparison.grid, comparison.bounds),
            (comparison.baseline_grid, comparison.baseline_bounds),
        ):
            for key, value in bounds.items():
                assert value in (min(grid[key]), max(grid[key])), (name, key)


def test_failing_warm_up_is_not_a_failure(monkeypatch):
    """Twenty components need more rows than the warm-up has; the search has enough."""

    class Wide(Toy):
        n_rows = []

        def fit_transform(self, X, y=None):
            self.n_rows.append(len(X))
            if len(X) < 100:
                raise ValueError("too few")
            return super().fit_transform(X)

    rows = make_rows([Wide], QUICK, {"Wide": against(method=(40,), baseline=(40,))})
    run_rows(rows, QUICK)
    assert rows[0].state == "finished"
    assert Wide.n_rows[0] < 100


def test_reasons_are_in_the_report(tmp_path):
    rows = make_rows([Weak], QUICK, TOYS)
    reasons = {"Uncompared": "There is nothing like it."}
    page = write_report(rows, QUICK, tmp_path, seconds=0.0, interrupted=True, reasons=reasons)
    assert "<td>Uncompared</td><td>There is nothing like it.</td>" in page.read_text()


def test_full_protocol_has_more_rows():
    problem = find_problem("checkerboard")
    sizes = [len(problem.rows(size).X) for size in ("quick", "default", "full")]
    assert sizes == [2000, 10_000, 50_000]


def test_partial_row_counts_only_folds_of_both():
    row = filled_row([0.9, 0.8, 0.7], [0.1, 0.2, 0.3])
    del row.method.outcomes[0], row.baseline.outcomes[2]
    assert row.folds == [1]
    assert row.state == "partial"
    assert_array_equal(row.scores(row.method), [0.8])


def test_report_of_nothing_finished_is_still_a_page(tmp_path):
    rows = make_rows([Weak], QUICK, TOYS)
    page = write_report(rows, QUICK, tmp_path, seconds=0.0, interrupted=True)
    assert "not run" in page.read_text()


def compared():
    classes = [*all_estimators(), *all_kernels()]
    return [cls for cls in classes if cls.__name__ in COMPARISONS]


def make_method(cls):
    """Make the method as it is compared, with the first value of each list that is searched."""
    comparison = COMPARISONS[cls.__name__]
    first = {key: values[0] for key, values in comparison.grid.items()}
    if hasattr(cls, "fit"):
        return clone(cls(**comparison.params)).set_params(**first)
    return Contender(cls, {**comparison.params, **first}, {}).make()


@pytest.mark.few(12)
@pytest.mark.parametrize("name", known_problems())
def test_problem_gives_the_same_rows_and_draws(name):
    problem = find_problem(name)
    data = problem.load(True)
    again = problem.load(True)
    assert_array_equal(data.X, again.X)
    assert_array_equal(data.y, again.y)
    assert len(data.X) == len(data.y)
    assert len(data.X) < len(problem.load(False).X)
    assert all(len(rows) == len(data.X) for rows in data.fit_params.values())
    step = next(
        make_method(cls) for cls in compared() if COMPARISONS[cls.__name__].problem == name
    )
    splitter = problem.splitter(n_splits=3, random_state=0)
    train, test = next(splitter.split(data.X, data.y, data.groups))
    fitted = problem.pipeline(step).fit(data.X[train], data.y[train])
    assert fitted.named_steps[STEP] is step
    fig = Figure(layout="constrained")
    problem.plot(fig, {"one": fitted, "two": fitted}, data, test)
    fig.savefig(io.BytesIO())
    assert any(axes.has_data() for axes in fig.axes)
