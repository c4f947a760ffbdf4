"""Every bundled file that is not code says where it comes from and what is allowed."""

import re
from pathlib import Path

import pytest

import skmoderndata

PACKAGE = Path(skmoderndata.__file__).parent
# Files that the project itself wrote have its licence.
OURS = {"_guide/choose.toml", "py.typed"}
# Number of lines at the top of a file that are searched for a licence
N_LINES = 5


def bundled(folder):
    """Return the files below `folder` that are neither code, caches nor licences."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [
        path for path in files if "__pycache__" not in path.parts and path.suffix != ".py"
    ]
    return [path for path in files if not path.name.endswith("_license.txt")]


def without_licence(folder, ours=()):
    """Return the names of bundled files without a licence beside them or at their top."""
    return [
        path.relative_to(folder).as_posix()
        for path in bundled(folder)
        if path.relative_to(folder).as_posix() not in ours and not has_licence(path)
    ]


def has_licence(path):
    beside = path.with_name(f"{path.stem}_license.txt")
    if beside.is_file():
        return bool(beside.read_text(encoding="utf-8").strip())
    top = path.read_bytes().decode("utf-8", errors="replace").splitlines()[:N_LINES]
    return any(re.search(r"licen[cs]e|public domain", line, re.IGNORECASE) for line in top)


@pytest.mark.certificate
def test_bundled_files_have_a_licence():
    names = {path.relative_to(PACKAGE).as_posix() for path in bundled(PACKAGE)}
    assert "datasets/data/blosum62.txt" in names
    assert without_licence(PACKAGE, OURS) == []


@pytest.mark.certificate
def test_licences_belong_to_a_file():
    stems = {path.stem for path in bundled(PACKAGE / "datasets" / "data")}
    licences = sorted((PACKAGE / "datasets" / "data").glob("*_license.txt"))
    assert {path.name.removesuffix("_license.txt") for path in licences} <= stems


@pytest.mark.edge
def test_new_file_without_licence_is_named(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rain.csv").write_text("day,rain\n1,2\n", encoding="utf-8")
    (tmp_path / "data" / "empty.csv").write_text("day,rain\n1,2\n", encoding="utf-8")
    (tmp_path / "data" / "empty_license.txt").write_text("\n", encoding="utf-8")
    (tmp_path / "data" / "sun.csv").write_text("# Licence: CC0\nday,sun\n", encoding="utf-8")
    (tmp_path / "data" / "snow.csv").write_text("day,snow\n", encoding="utf-8")
    (tmp_path / "data" / "snow_license.txt").write_text("CC0", encoding="utf-8")
    (tmp_path / "code.py").write_text("x = 1\n", encoding="utf-8")
    assert without_licence(tmp_path) == ["data/empty.csv", "data/rain.csv"]
    assert without_licence(tmp_path, {"data/rain.csv"}) == ["data/empty.csv"]
