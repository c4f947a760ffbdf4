"""The files that describe a release to other services agree with pyproject.toml."""

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest

from skmoderndata import __version__

ROOT = Path(__file__).resolve().parents[2]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def project():
    return tomllib.loads(text("pyproject.toml"))["project"]


def dependencies():
    """Return name and lower bound of each dependency, without markers."""
    return [line.split(";")[0].split(",")[0].strip() for line in project()["dependencies"]]


@pytest.mark.certificate
def test_codemeta():
    described = json.loads(text("codemeta.json"))
    assert described["version"] == __version__
    assert described["softwareRequirements"] == dependencies()
    for key in ("name", "description", "keywords"):
        assert described[key] == project()[key]
    addresses = (
        described["codeRepository"],
        described["issueTracker"],
        described["softwareHelp"],
    )
    assert addresses == tuple(project()["urls"].values())


@pytest.mark.certificate
def test_recipe():
    recipe = text("recipe/meta.yaml")
    version = re.search(r'set version = "(.+)"', recipe).group(1)
    assert version == __version__.split(".dev")[0]
    run = recipe.split("  run:\n")[1].split("\n\n")[0]
    assert re.findall(r"- (\S+) (>=[\d.]+)", run) == [
        tuple(re.fullmatch(r"([\w-]+)(>=.+)", line).groups()) for line in dependencies()
    ]
    licences = re.findall(r"- (\S+_license\.txt)", recipe)
    assert licences == sorted(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "skmoderndata" / "datasets" / "data").glob("*_license.txt")
    )


@pytest.mark.certificate
def test_groups_mirror_extras():
    groups = tomllib.loads(text("pyproject.toml"))["dependency-groups"]
    for name in ("test", "docs"):
        assert groups[name] == [f"skmoderndata[{name}]"]
        assert name in project()["optional-dependencies"]


@pytest.mark.certificate
def test_paper_cites_what_its_list_has():
    cited = set(re.findall(r"@(\w+)", text("paper/paper.md").split("---")[2]))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", text("paper/paper.bib"), re.MULTILINE))


@pytest.mark.certificate
def test_lowest_versions_are_requirements():
    lowest = runpy.run_path(str(ROOT / "tools" / "dev.py"))["oldest"]()
    assert len(lowest) == len(dependencies())
    for line in lowest:
        assert re.fullmatch(r"[\w-]+==[\d.]+\.\*", line)
