"""`skmoderndata.suggest`: what it reads, says and refuses."""

import ast
import importlib.resources
import subprocess
import sys
from time import process_time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import skmoderndata
from skmoderndata._guide.data_facts import DataFacts, data_facts
from skmoderndata._guide.suggest import accepts_of, imports_of, problems

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pl = pytest.importorskip("polars")


def in_dask(X):
    """Return a Dask array in chunks of 20 rows."""
    return da.from_array(X, chunks=(20, *X.shape[1:]))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_prints_what_it_returns(rng, capsys):
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 5))
    found = skmoderndata.suggest(X)
    shown = capsys.readouterr().out
    assert 2 <= len(found) <= 3
    for one in found:
        for text in (one.problem, one.page, one.sklearn, one.reason, *one.code.splitlines()):
            assert text
            assert text in shown
    assert "columns are correlated" in found[0].reason
    assert repr(found).startswith(f"<{len(found)} suggestions: EntrySearchCV, ")


def test_named_problems_come_first(rng, capsys):
    X = rng.normal(size=(100, 5))
    outliers = skmoderndata.suggest(X, about="false alarm")[0]
    assert "outlying_rows_" in outliers.code
    assert outliers.reason.startswith("you named it")
    assert skmoderndata.suggest(X, about="how many factors")[0].names[0] == "EntrySearchCV"
    codes = skmoderndata.suggest(X, about="codes for a dictionary that I have")
    assert codes[0].names[0] == "SparseCoder"
    assert skmoderndata.suggest(X, about="vector quantisation")[0].names[0] == "NeuralGas"
    assert skmoderndata.suggest(X, about="atoms of signals")[0].names[0] == "KSVD"
    warped = skmoderndata.suggest(X, ["a", "b"] * 50, about="dynamic time warping")
    assert warped[0].names[0] == "DTWNeighborsClassifier"


def test_named_problems_with_a_target_need_one(rng, capsys):
    X = rng.normal(size=(100, 5))
    found = skmoderndata.suggest(X, about="predict grades")
    assert not any("y)" in one.code for one in found)


def test_scaler_is_part_of_the_line_if_scales_differ(rng, capsys):
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 5))
    assert "RobustScaler" not in skmoderndata.suggest(X)[0].code
    assert "RobustScaler()" in skmoderndata.suggest(X * [1, 1, 1, 1, 100])[0].code


def test_series_with_channels_first_are_turned(rng, capsys):
    series = [rng.normal(size=(3, 30 + i)) for i in range(8)]
    assert "[x.T for x in X]" in skmoderndata.suggest(series)[0].code
    assert ".T" not in skmoderndata.suggest([x.T for x in series])[0].code


def test_whole_numbers_from_zero_name_both_classes_and_ranks(rng, capsys):
    found = skmoderndata.suggest(rng.normal(size=(100, 5)), np.arange(100) % 5)
    assert [one.names[0] for one in found] == ["KernelDiscriminantAnalysis", "NuSVOR"]


def test_kind_of_scores_follows_the_target(rng, capsys):
    series = [rng.normal(size=(30 + i, 2)) for i in range(8)]
    classes, numbers = (
        "\n".join(one.code for one in skmoderndata.suggest(series, y))
        for y in (list("abababab"), np.linspace(0, 1, 8))
    )
    assert "SVC(" in classes
    assert "DTWNeighborsClassifier(" in classes
    assert "SVR(" in numbers
    assert "DTWNeighborsRegressor(" in numbers


def test_samples_of_unknown_type_are_named_by_the_caller(capsys):
    trees = [("S", ("NP",)), ("S", ("VP",))]
    with pytest.raises(TypeError, match="type tuple: say what they are"):
        skmoderndata.suggest(trees)
    assert skmoderndata.suggest(trees, about="trees")[0].names[0] == "AllSubtree"


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (None, "none"),
        (["a", "b"] * 30, "classes"),
        (np.arange(60) % 3, "classes"),
        (1 + np.arange(60) % 5, "ranks"),
        (1.0 + np.arange(60) % 5, "ranks"),
        (np.arange(60) % 2 == 0, "classes"),
        (["low", "high", "medium"] * 20, "ranks"),
        (pd.Series(pd.Categorical(["x", "y"] * 30, ordered=True)), "ranks"),
        (pd.Categorical(["x", "y"] * 30, ordered=True), "ranks"),
        (pd.Series(["x", "y"] * 30), "classes"),
        (np.linspace(0, 1, 60), "numbers"),
        (np.arange(60) ** 2, "numbers"),
        (np.ones(60), "one class"),
        (np.ones((60, 2)), "numbers"),
    ],
)
def test_targets(y, kind, rng):
    assert data_facts(rng.normal(size=(60, 3)), y).y == kind


@pytest.mark.parametrize(
    ("X", "values"),
    [
        (np.eye(4, 6, dtype=bool), "Boolean"),
        (np.eye(4, 6), "Boolean"),
        (3 * np.eye(4, 6), "counts"),
        (0.5 * np.eye(4, 6), "non-negative"),
        (-np.eye(4, 6), "real"),
        (np.r_[np.eye(4, 6), [[np.nan] * 6]] - 1, "real"),
    ],
)
def test_values(X, values):
    assert data_facts(X).values == values


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        (["ab", "ba"], "strings"),
        (pd.Series(["ab", "ba"]), "strings"),
        (pd.DataFrame({"name": ["ab", "ba"]}), "strings"),
        (["one two three", "four five six"], "texts"),
        ([["a", "b"], ["b"]], "sequences"),
        ([{1, 2}, {3}], "sets"),
        ([("S", ("NP",)), ("S", ("VP",))], "objects"),
        ([ast.parse("a"), ast.parse("b")], "trees"),
        ([np.zeros(5), np.zeros(7)], "series"),
        (np.zeros((5, 7, 2)), "series"),
        ([np.zeros((9, 2)), np.zeros((9, 3))], "views"),
        ([np.zeros((9, 2)), None, np.zeros((9, 3))], "views"),
        (np.arange(9.0), "one series"),
        ([1.0, 2.0, 3.0], "one series"),
        (pd.DataFrame({"flow": [1.0, 2.0, 3.0]}), "one series"),
        ([[1, 2], [3, 4], [5, 6]], "table"),
        ([[1.5, 2.5], [3.5, 4.5], [5.5, 6.5]], "table"),
        ([[1.5, 2.5], [3.5]], "series"),
        (np.eye(4, 6).astype(object), "table"),
        (1 - np.eye(5), "distances"),
        (sparse.csr_array(np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)), "one graph"),
        ([object(), object()], "objects"),
    ],
)
def test_kinds(X, kind):
    assert data_facts(X).kind == kind


def test_counts_of_documents_are_not_ratings(rng):
    counts = rng.poisson(0.05, size=(100, 300))
    stars = np.where(rng.random((100, 300)) < 0.05, rng.integers(1, 6, size=(100, 300)), 0)
    assert data_facts(sparse.csr_array(counts)).kind == "document counts"
    facts = data_facts(sparse.csr_array(stars))
    assert facts.kind == "table"
    assert facts.missing > 0.9


def test_columns_of_text_are_left_out(rng, capsys):
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=list("abc")).assign(name="x")
    found = skmoderndata.suggest(frame)
    assert found.facts.columns == 3
    assert 'X = X.select_dtypes(["number", "bool"])' in found[0].code


def test_words_that_name_no_problem_are_reported(rng, capsys):
    skmoderndata.suggest(rng.normal(size=(100, 5)), about="protein")
    assert capsys.readouterr().out.startswith(
        "No problem for data of kind 'table' mentions 'protein'"
    )


def test_rows_sorted_by_class_are_not_in_order(rng):
    classes = np.repeat(np.arange(3), 100)[:, None] + 0.3 * rng.normal(size=(300, 4))
    walk = np.cumsum(rng.normal(size=(300, 4)), axis=0)
    assert not data_facts(classes).in_order
    assert data_facts(walk).in_order
    assert not data_facts(walk[rng.permutation(300)]).in_order


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((4, 3)),
        np.ones((1, 3)),
        np.zeros((50, 1)),
        ["", "a"],
        pd.DataFrame({"a": [1.0]}),
        pd.DataFrame({"a": [1.0, np.nan], "b": [np.nan, np.nan]}),
        pd.DataFrame({"a": [1, 2], "b": [True, False], "c": ["x", 1]}),
        pd.DataFrame({"a": [1, 2], "b": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
        pd.DataFrame(np.ones((1, 2))),
        np.ones((1, 1)),
        sparse.csr_array(np.eye(30, 5)),
        np.broadcast_to(np.arange(8.0), (1_000_000, 8)),
    ],
)
def test_degenerate_data_have_suggestions(X, capsys):
    skmoderndata.suggest(X)
    shown = capsys.readouterr().out
    assert ">>>" in shown or "Nothing in these data speaks for a method" in shown


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        ([], None, ValueError, "X is empty"),
        (np.zeros((0, 3)), None, ValueError, "X is empty"),
        (np.zeros((5, 3)), [1, 2], ValueError, "X has 5 samples, but y has 2"),
        ("text", None, TypeError, "collection of samples"),
        (3, None, TypeError, "collection of samples"),
        (np.zeros((2, 2, 2, 2)), None, ValueError, "4 dimensions"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), None, ValueError, "no numeric columns"),
        (np.zeros((5, 0)), None, ValueError, r"X is empty, of shape \(5, 0\)"),
        (sparse.csr_array((0, 5)), None, ValueError, r"X is empty, of shape \(0, 5\)"),
        (["", ""], None, ValueError, "All 2 samples of X are empty"),
        ([None, None], None, ValueError, "All 2 samples of X are empty"),
        ([b"ab"], None, TypeError, "decode them"),
        ({"a": 1}, None, TypeError, "collection of samples"),
        (np.array(1.0), None, TypeError, "collection of samples"),
        (np.ones((3, 2)) + 1j, None, TypeError, "real numbers"),
        (np.array([["a", "b"], ["c", "d"]]), None, ValueError, "cells that are not numbers"),
        (np.full((4, 6), np.nan), None, ValueError, "NaN in all cells"),
        (
            pd.DataFrame({"a": [np.nan] * 5, "b": [np.nan] * 5}),
            None,
            ValueError,
            "NaN in all cells",
        ),
        (pd.DataFrame(), None, ValueError, "X is empty"),
        (pd.DataFrame({"a": pd.date_range("2020", periods=5)}), None, TypeError, "Timestamp"),
        (np.full((4, 6), 1e300), None, ValueError, "rescale"),
        (pd.DataFrame({"a": []}), None, ValueError, "X is empty"),
        (np.full(5, np.nan), None, ValueError, "All 5 samples of X are empty"),
        (np.full((5, 1), np.nan), None, ValueError, "NaN in all cells"),
        (iter([1, 2]), None, TypeError, "collection of samples"),
        (np.full((4, 6), np.inf), None, ValueError, "infinite cells"),
        (np.zeros((5, 3)), 1, TypeError, "y is of type int"),
        (np.zeros((5, 3)), sparse.csr_array((5, 1)), TypeError, "y is of type csr_array"),
        (np.zeros((3, 3)), [1.0, np.nan, 2.0], ValueError, "y has no value for 1 of 3"),
        (np.zeros((3, 3)), ["a", None, "b"], ValueError, "y has no value for 1 of 3"),
        (np.zeros((3, 3)), {"a": 1}, TypeError, "y is of type dict"),
        (np.zeros((3, 3)), "abc", TypeError, "y is of type str"),
        (np.zeros((3, 3)), dask.delayed(np.ones)(3), TypeError, "y is of type Delayed"),
        (np.zeros((3, 3)), [[1], [1, 2], [3]], ValueError, "entries of y have different"),
        (pd.DataFrame, None, TypeError, "X of type type"),
        (pl.DataFrame({"a": [1.0]}).lazy(), None, TypeError, "X of type LazyFrame"),
        (dask.delayed(np.eye)(5), None, TypeError, "X of type Delayed"),
        (np.zeros(20, dtype=[("a", float)]), None, TypeError, r"pandas\.DataFrame\(X\)"),
        (pd.DataFrame(np.ones((9, 2)) + 1j), None, ValueError, "no numeric columns"),
        (da.ones((9, 2), dtype=complex), None, TypeError, "real numbers"),
        (in_dask(np.array([["a", "b"]] * 9, dtype=object)), None, TypeError, "real numbers"),
        (in_dask(np.full((9, 2), np.nan)), None, ValueError, "NaN in all cells"),
        (da.zeros((0, 2)), None, ValueError, "X is empty"),
    ],
)
def test_error_names_bad_input(X, y, error, message):
    with pytest.raises(error, match=message):
        skmoderndata.suggest(X, y)


def test_first_chunks_may_be_empty(rng, capsys):
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    late = np.arange(60) > 45
    array = in_dask(frame.to_numpy())[in_dask(late)]
    for X in (dd.from_pandas(frame, npartitions=3).loc[46:], array):
        facts = skmoderndata.suggest(X).facts
        assert facts.kind == "table"
        assert facts.columns == 3


def test_columns_without_numbers_are_those_of_report(rng, capsys):
    """Durations and complex numbers count as numbers in pandas, but not here."""
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=list("abc"))
    frame = frame.assign(duration=pd.to_timedelta(np.arange(30), "D"), wave=1j)
    found = skmoderndata.suggest(frame)
    assert found.facts.columns == 3
    assert "X = X[['a', 'b', 'c']]" in found[0].code
    assert "duration, wave" in skmoderndata.report(frame)._repr_html_()


def test_equal_names_are_counted_once(rng, capsys):
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "a", "a"])
    assert skmoderndata.suggest(frame).facts.columns == 3


def test_about_must_be_a_text(rng):
    with pytest.raises(TypeError, match="should be words"):
        skmoderndata.suggest(rng.normal(size=(9, 2)), about=3)


def test_a_memory_map_is_not_read_as_a_whole(tmp_path, rng, capsys):
    np.save(tmp_path / "X.npy", rng.normal(size=(5000, 4)))
    facts = skmoderndata.suggest(np.load(tmp_path / "X.npy", mmap_mode="r")).facts
    assert facts.in_blocks
    assert facts.rows == 5000


def test_large_tables_take_less_than_two_seconds(rng, capsys):
    X = rng.normal(size=(100_000, 50))
    start = process_time()
    skmoderndata.suggest(X, rng.normal(size=100_000))
    assert process_time() - start < 2


def test_data_do_not_change(rng, capsys):
    X = rng.normal(size=(60, 4))
    before = X.copy()
    skmoderndata.suggest(X)
    assert (X == before).all()


@pytest.mark.parametrize("row", problems(), ids=lambda row: row["problem"])
def test_every_row_has_what_suggestions_need(row):
    assert row["synonyms"]
    assert all("kind" in when for when in row["when"])
    assert {name for when in row["when"] for name in when} <= {
        *DataFacts._fields,
        "asked",
        "weight",
    }
    line = row["line"].replace("<", "").replace(">", "").replace("{last}", "")
    names = [line.split("import ")[1] for line in imports_of(line) if "from" in line]
    assert any(name in row["take"] for line in names for name in line.split(", "))
    assert accepts_of(row["take"][0]).tier != "textbook"


def test_knowledge_is_part_of_the_package():
    assert importlib.resources.files("skmoderndata._guide").joinpath("choose.toml").is_file()


def test_importing_the_package_reads_nothing():
    code = "import sys, skmoderndata; print('skmoderndata._guide.suggest' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert shown.stdout.strip() == "False"
