"""`skmoderndata.report`: it names planted defects, and nothing in noise."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from time import process_time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import skmoderndata
from skmoderndata._guide.report_parts import (
    is_boolean,
    is_measured,
    standard_ranks,
)
from skmoderndata._guide.report_table import read_table

pl = pytest.importorskip("polars")


def planted(n=300, p=8, seed=0):
    """Two common causes, noise, and one of everything that the page looks for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, p)) + 0.3 * rng.normal(size=(n, p))
    names = [f"sensor {j}" for j in range(p)]

    # the table has a broken cell, a scale, a drift, a copy, gaps that come together, and roles
    X[41, 1] += 40.0
    X[:, 2] *= 1000.0
    X = np.column_stack([X, rng.normal(size=n) + np.linspace(0, 3, n), 1.8 * X[:, 0] + 32])
    lost = rng.random(n) < 0.2
    X[np.ix_(lost, [3, 4])] = np.nan
    role = rng.random((n, 1)) < 0.4
    rights = role & (rng.random((n, 3)) < 0.85)
    X = np.column_stack([X, rights])
    names += ["clock", "copy", "read", "write", "admin"]
    return pd.DataFrame(X, columns=names)


@pytest.fixture(scope="module")
def frame():
    return planted()


@pytest.fixture(scope="module")
def page(frame):
    return skmoderndata.report(frame)


def found(page):
    return {finding.name: finding for finding in page.findings}


# What the report finds


@pytest.mark.recovery
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gaps", ["coincide in: sensor 3, sensor 4", "sensor 3"]),
        ("scales", ["interquartile range of sensor 2 is at least"]),
        ("components", ["common causes"]),
        ("cells", ["('41', 'sensor 1'"]),
        ("drift", ["clock"]),
        ("redundant columns", ["('sensor 0', 'copy'"]),
        ("roles", ["read, write, admin"]),
    ],
)
def test_names_planted_defects(page, name, words):
    finding = found(page)[name]
    said = f"{finding.text} {finding.lines}"
    for word in words:
        assert word in said


@pytest.mark.recovery
def test_names_nothing_else(page):
    pieces = found(page)
    assert len(pieces["cells"].lines) == 1
    assert pieces["drift"].text.count("sensor") == 0
    assert len(pieces["redundant columns"].lines) == 1


@pytest.mark.recovery
def test_names_odd_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 12)) + 0.1 * rng.normal(size=(200, 12))
    X[[5, 77]] += 8 * rng.normal(size=(2, 12))
    page = skmoderndata.report(pd.DataFrame(X, index=[f"day {i}" for i in range(200)]))
    said = f"{found(page)['cells'].text} {found(page)['cells'].lines}"
    assert "day 5" in said
    assert "day 77" in said


@pytest.mark.recovery
def test_names_the_column_that_gaps_depend_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[(X[:, 1] > 0.5) & (rng.random(300) < 0.7), 2] = np.nan
    said = found(skmoderndata.report(X))["gaps"].text
    assert "Gaps of column 2 are more frequent if column 1 is large" in said


@pytest.mark.recovery
def test_finds_the_number_of_components():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 12)) + 0.3 * rng.normal(size=(200, 12))
    assert ", 3 is the smallest" in found(skmoderndata.report(X))["components"].text


NOISE = {
    "Gaussian": lambda rng, size: rng.normal(size=size),
    "heavy tails": lambda rng, size: rng.standard_t(3, size=size),
    "skewed": lambda rng, size: np.exp(rng.normal(size=size)),
    "counts": lambda rng, size: rng.poisson(2, size),
    "Boolean": lambda rng, size: rng.random(size) < 0.3,
}


@pytest.mark.recovery
@pytest.mark.parametrize("kind", NOISE)
def test_noise_gives_nothing(kind):
    rng = np.random.default_rng(0)
    for size in ((60, 5), (200, 10)):
        page = skmoderndata.report(NOISE[kind](rng, size))
        assert page.findings == ()
        assert "Nothing found" in page._repr_html_()
        assert "nothing found" in repr(page)


@pytest.mark.recovery
@pytest.mark.full
@pytest.mark.parametrize("kind", NOISE)
def test_level_is_kept(kind):
    """Of 60 tables at level .1 fewer than 14 have a finding: more has probability .002."""
    n_found = 0
    for seed in range(60):
        X = NOISE[kind](np.random.default_rng(seed), (80, 6))
        n_found += bool(skmoderndata.report(X, level=0.1).findings)
    assert n_found <= stats.binom.isf(0.002, 60, 0.1)


@pytest.mark.recovery
def test_gaps_at_random_show_no_pattern():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    page = skmoderndata.report(X)
    assert list(found(page)) == ["gaps"]
    assert "no pattern" in found(page)["gaps"].text


@pytest.mark.oracle
def test_ranks_are_standard():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (30, 3)).astype(float)
    X[3:7, 1] = np.nan
    known = ~np.isnan(X[:, 1])
    expected = stats.zscore(stats.rankdata(X[known, 1]))
    np.testing.assert_allclose(standard_ranks(X)[known, 1], expected)
    assert not standard_ranks(X)[3:7, 1].any()


@pytest.mark.edge
def test_kinds_of_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=30), np.arange(30) % 2, np.ones(30), np.zeros(30)])
    X[0, 3] = np.nan
    table = read_table(X, 0)
    assert is_measured(table).tolist() == [True, False, False, False]
    assert is_boolean(table).tolist() == [False, True, False, False]


# What input it accepts


def containers(frame):
    X = frame.to_numpy()
    mixed = frame.assign(city="Ulm", day=pd.Timestamp("2024-01-01"))
    booleans = {name: frame[name].astype("boolean") for name in ("read", "write", "admin")}
    numbers = frame.rename(columns={name: i for i, name in enumerate(frame.columns)})
    return {
        "array": X,
        "Fortran": np.asfortranarray(X),
        "float32": X.astype(np.float32),
        "object": X.astype(object),
        "list": X.tolist(),
        "pandas": frame,
        "pandas with text": mixed,
        "nullable": frame.assign(**booleans).convert_dtypes(),
        "numbered columns": numbers,
        "equal names": frame.set_axis(["same"] * frame.shape[1], axis=1),
        "polars": pl.from_pandas(frame),
        "polars with text": pl.from_pandas(mixed),
    }


CONTAINERS = list(containers(planted(50)))


@pytest.mark.invariance
@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CONTAINERS)
def test_every_line_runs_as_pasted(name):
    X = containers(planted(150))[name]
    page = skmoderndata.report(X)
    assert len(page.findings) == 7
    for finding in page.findings:
        exec(finding.code, {"X": X})


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore")
def test_lines_of_a_mixed_frame_run_as_pasted():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": rng.normal(size=80), "city": "Ulm", "b": rng.normal(size=80) * 1000}
    )
    X["c"] = X["a"] * 2
    page = skmoderndata.report(X)
    assert "Skipped columns without numbers: city." in page._repr_html_()
    assert {"scales", "redundant columns"} <= set(found(page))
    for finding in page.findings:
        exec(finding.code, {"X": X})


@pytest.mark.edge
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (pd.DataFrame(), ValueError, "X is empty"),
        (np.empty((0, 3)), ValueError, "X is empty"),
        (np.full((30, 3), np.nan), ValueError, "NaN in all cells"),
        (pd.DataFrame({"city": ["Ulm"] * 30}), ValueError, "no column of numbers"),
        (np.array([["a", "b"]] * 30), ValueError, "no column of numbers"),
        (np.array([[1.0, np.inf]] * 30), ValueError, "infinite"),
        (np.array([[1.0, 1e120]] * 30), ValueError, "other units"),
        (np.ones(5), ValueError, "dimension"),
        (pd.Series([1.0, 2.0]), TypeError, "type Series"),
        ([[1.0], [1.0, 2.0]], ValueError, "different lengths"),
        (np.ones((3, 3), dtype=complex), ValueError, "no column of numbers"),
        (sparse.eye_array(30), TypeError, "toarray"),
        (pl.DataFrame({"a": [1.0]}).lazy(), TypeError, "collect"),
        ("table.csv", TypeError, "type str"),
        (None, TypeError, "type NoneType"),
        (pd.Series([1.0, 2.0]), TypeError, "X.to_frame()"),
        ({"a": [1.0, 2.0]}, TypeError, "pandas.DataFrame(X)"),
        (pd.DataFrame, TypeError, "type type"),
        (np.zeros(9, dtype=[("a", float)]), ValueError, "pandas.DataFrame(X) for records"),
        (pd.DataFrame({"a": pd.to_timedelta([1, 2])}), ValueError, "no column of numbers"),
    ],
)
def test_errors_name_the_problem(X, error, message):
    with pytest.raises(error, match=re.escape(message)):
        skmoderndata.report(X)


@pytest.mark.edge
def test_rejects_dask():
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="compute"):
        skmoderndata.report(da.ones((100, 3)))


@pytest.mark.edge
@pytest.mark.parametrize(
    ("name", "value"), [("level", 0), ("level", 1.0), ("random_state", -1)]
)
def test_rejects_settings(name, value):
    with pytest.raises(ValueError, match=f"{name}={value}"):
        skmoderndata.report(np.eye(30), **{name: value})


@pytest.mark.edge
@pytest.mark.parametrize(
    "X",
    [
        np.ones((1, 3)),
        np.ones((1, 1)),
        np.arange(30.0)[:, None] % 7,
        np.ones((30, 4)),
        np.zeros((30, 4), dtype=bool),
        np.random.default_rng(0).normal(size=(5, 40)),
        np.random.default_rng(0).normal(size=(25, 60)),
    ],
    ids=["one row", "one cell", "one column", "constant", "all False", "few rows", "wide"],
)
def test_small_and_flat_tables_have_nothing(X):
    assert skmoderndata.report(X).findings == ()


@pytest.mark.edge
def test_empty_columns_and_huge_cells():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    X[:, 4] = np.nan
    X[7, 1] = -999999
    X[7, 4] = np.nan
    page = skmoderndata.report(X)
    assert "('7', 'column 1', '-1e+06'" in str(found(page)["cells"].lines)
    assert "column 4" in str(found(page)["gaps"].lines)


@pytest.mark.edge
def test_large_tables_are_sampled():
    X = np.broadcast_to(np.arange(10.0) % 3, (2_000_000, 10))
    page = skmoderndata.report(X)
    assert "random sample of 10,000 of the 2,000,000 rows" in page._repr_html_()
    wide = skmoderndata.report(np.zeros((25, 2000)))
    assert "random sample of 300 of the 2,000 columns" in wide._repr_html_()


# How the page looks


class Checker(HTMLParser):
    """Collects elements that are not closed, and everything that is loaded from outside."""

    EMPTY = ("meta", "link", "img", "br", "path", "use", "rect", "image", "circle", "line")

    def __init__(self):
        super().__init__()
        self.open = []
        self.wrong = []
        self.ids = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.EMPTY:
            self.open.append(tag)
        self._look(tag, dict(attrs))

    def handle_startendtag(self, tag, attrs):
        self._look(tag, dict(attrs))

    def _look(self, tag, attrs):
        self.ids += [attrs["id"]] if "id" in attrs else []
        if tag in ("script", "link", "iframe"):
            self.wrong.append(tag)
        for name in ("src", "href", "xlink:href"):
            if not attrs.get(name, "#").startswith(("#", "data:")):
                self.wrong.append(attrs[name])

    def handle_endtag(self, tag):
        if tag not in self.EMPTY and (not self.open or self.open.pop() != tag):
            self.wrong.append(f"/{tag}")


def test_page_is_whole_and_needs_nothing(page, tmp_path):
    path = tmp_path / "report.html"
    page.save(path)
    text = path.read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.wrong == []
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids))
    assert text.count("<svg ") == len(page.findings) == 7
    assert "url(http" not in text
    assert len(text.encode()) < 1e6
    assert page._repr_html_() in text


@pytest.mark.invariance
def test_page_is_the_same_twice(frame, page):
    assert skmoderndata.report(frame.copy())._repr_html_() == page._repr_html_()


@pytest.mark.edge
def test_names_are_escaped():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [1, 1000]
    name = "<script>alert(1)</script> $x$ & \N{GREEK SMALL LETTER ALPHA}\n'\""
    page = skmoderndata.report(pd.DataFrame(X, columns=["b", name]))
    text = page._repr_html_()
    assert "scales" in found(page)
    assert "<script" not in text
    assert "&lt;script&gt;" in text


@pytest.mark.edge
def test_without_matplotlib_the_page_has_only_tables():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np, skmoderndata\n"
        "X = np.random.default_rng(0).normal(size=(80, 2)) * [1, 1000]\n"
        "text = skmoderndata.report(X)._repr_html_()\n"
        "assert '<svg' not in text and '<table' in text and 'matplotlib' in text\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.full
def test_large_table_takes_ten_seconds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 5)) @ rng.normal(size=(5, 50))
    X += 0.5 * rng.normal(size=X.shape)
    X[rng.random(X.shape) < 0.05] = np.nan
    skmoderndata.report(X[:200])  # compile and import everything first
    start = process_time()
    page = skmoderndata.report(X)
    assert process_time() - start < 10
    assert len(page._repr_html_()) < 1e6
