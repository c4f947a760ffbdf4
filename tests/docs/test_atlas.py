"""The atlas is whole and true: its lines run, its homes exist, no estimator is left out."""

import importlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from skmoderndata._estimator.registry import all_estimators, all_kernels

DOCS = Path(__file__).resolve().parents[2] / "docs"
SPEC = importlib.util.spec_from_file_location(
    "atlas", DOCS / "_ext" / "skmoderndata_site" / "atlas.py"
)
atlas = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(atlas)

DATA = atlas.load(DOCS / "atlas.toml")
ROWS = [row for section in DATA["section"] for row in section["rows"]]
FIELDS = {"method", "source", "where", "have", "home", "setting", "line", "note"}


def of_kind(*kinds):
    return [row for row in ROWS if row["have"] in kinds]


def ours(row):
    return atlas.split_homes(row)[0]


def faults(row):
    """Problems with the form of a row."""
    found = [f"unknown field {name}" for name in row.keys() - FIELDS]
    found += [
        f"no {name}" for name in ("method", "source", "have", "home") if not row.get(name)
    ]
    if found:
        return found

    found += [f"unknown text {name}" for name in row["source"] if name not in DATA["texts"]]
    mine, theirs = atlas.split_homes(row)
    if row["have"] not in ("sk", "part", "new"):
        found.append(f"have={row['have']!r}")
    if ("line" in row) != (row["have"] != "new"):
        found.append("a line is for what scikit-learn has, and for that only")
    if bool(theirs) != (row["have"] != "new"):
        found.append("a home in scikit-learn is for what scikit-learn has")
    if bool(mine) != (row["have"] != "sk"):
        found.append("a home here is for what scikit-learn has not")
    if "setting" in row and not mine:
        found.append("a setting without a class of ours")
    if any(len(home.split(".")) != 2 for home in mine):
        found.append("a home here is module.name")

    return found


def test_rows_are_well_formed():
    assert {row["method"]: faults(row) for row in ROWS if faults(row)} == {}
    assert len(ROWS) > 200
    assert {text for row in ROWS for text in row["source"]} == set(DATA["texts"])


def test_no_row_twice_in_a_section():
    for section in DATA["section"]:
        methods = [row["method"] for row in section["rows"]]
        assert len(methods) == len(set(methods)), section["title"]


def scaling_marked(row):
    """Mark the lines of multidimensional scaling, whose classical start came with 1.8."""
    marks = [pytest.mark.newest] if "multidimensional" in row["method"] else []
    return pytest.param(row, marks=marks, id=row["method"])


@pytest.mark.parametrize("row", map(scaling_marked, of_kind("sk", "part")))
def test_line_runs(row, names):
    result = atlas.run(row, names)
    if isinstance(result, np.ndarray):
        assert np.isfinite(result).all()


@pytest.fixture(scope="module")
def names():
    return atlas.namespace(DATA)


@pytest.mark.parametrize("row", of_kind("sk", "part"), ids=lambda row: row["method"])
def test_line_uses_every_name_that_it_imports(row):
    unused = [h for h in atlas.split_homes(row)[1] if h.rpartition(".")[2] not in row["line"]]
    assert unused == []


@pytest.mark.parametrize("cls", all_estimators() + all_kernels(), ids=lambda cls: cls.__name__)
def test_every_class_has_a_row(cls):
    assert any(atlas.find(home) is cls for row in ROWS for home in ours(row)), (
        f"docs/atlas.toml has no row with {cls.__name__} at home"
    )


def test_available_homes_exist():
    for row in of_kind("part", "new"):
        if atlas.is_available(row):
            for home in ours(row):
                module, _, name = home.partition(".")
                assert hasattr(importlib.import_module(f"skmoderndata.{module}"), name)


def test_page_lists_available_and_missing_methods():
    page = atlas.render(DATA, DOCS)
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    lines = [line for line in lines if line != "| method | text | where it is |"]
    assert len(lines) == len(ROWS)
    for row, line in zip(ROWS, lines, strict=True):
        assert line.startswith(f"| {row['method']} |")
        assert all(home in line for home in row["home"])
        if row["have"] != "sk":
            assert ("not there yet" in line) != atlas.is_available(row)


def test_detects_a_missing_home():
    assert atlas.find("decomposition.NoSuchMethod") is None
    assert atlas.find("no_such_module.NoSuchMethod") is None
    assert not atlas.is_available({"home": ["decomposition.NoSuchMethod"]})


def test_detects_an_unknown_setting():
    cls = next(cls for cls in all_estimators() if cls.__name__ == "TimeDelayEmbedding")
    assert atlas.accepts(cls, {"n_lags": 2})
    assert not atlas.accepts(cls, {"n_lags": -1})
    assert not atlas.accepts(cls, {"no_such_parameter": 1})


def test_detects_a_broken_row():
    assert faults({"method": "m", "source": ["no such text"], "have": "new", "home": ["a.B"]})
    assert faults({"method": "m", "source": ["book"], "have": "sk", "home": ["a.B"]})
    assert faults({"method": "m", "source": ["book"], "have": "new", "home": ["a.b.C"]})
    good = {"method": "m", "source": ["book"], "have": "new", "home": ["a.B"]}
    assert faults(good) == []
