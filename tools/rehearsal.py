"""Rehearse a release: build it, and use it as a stranger would, with each Python that it names.

python3 tools/dev.py release-rehearsal [--python 3.12 ...] [--only notebook ...]

The commit HEAD is rehearsed; changes that are not committed are left out. All steps are run, also
after one failed, and a table shows the results. The output of each step is in build/rehearsal.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "rehearsal"
# Minimum number of versions of Python, unless the command names them.
FEWEST_PYTHONS = 3
# Maximum duration of a step, in seconds.
LONGEST_STEP = 1200
# Number of lines of a failed step's output that are shown.
LINES_SHOWN = 15

COMPARE = "--quick --only RobustPCA"
TEST = "README.md docs/quickstart.md tests/common/test_stored_models.py"
EXAMPLE = "plot_ten_minutes"
STEPS = ("doctests", "notebook", "compare", "test")
# Variables that would let a step use packages from outside its environment.
INHERITED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONSTARTUP")
FLAGS = "doctest_optionflags=NORMALIZE_WHITESPACE ELLIPSIS"
CONVERT = (
    "import sys; from sphinx_gallery.notebook import python_to_jupyter_cli; "
    "python_to_jupyter_cli(sys.argv[1:])"
)


class Row(NamedTuple):
    """One line of the table; `seconds` is None if the step was not run."""

    step: str
    python: str
    result: str
    seconds: float | None


def main(arguments):
    """Run the rehearsal; return 0 if all steps passed."""
    options = parse(arguments)
    versions = options.python or declared_versions()
    pythons = {version: find_python(version) for version in versions}
    missing = [version for version, path in pythons.items() if path is None]
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)

    with tempfile.TemporaryDirectory() as name:
        rehearsal = Rehearsal(Path(name))
        wheel = build(rehearsal)
        for version, path in pythons.items():
            if path is not None:
                rehearse(rehearsal, version, path, wheel, options.only)

    print(f"\n{table(rehearsal.rows)}\n")
    problems = verdict(rehearsal.rows, missing, fewest=0 if options.python else FEWEST_PYTHONS)
    print("\n".join(problems) or "All steps passed.")
    return int(any(not problem.startswith("Not found") for problem in problems))


def parse(arguments):
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="release-rehearsal", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--python", nargs="+", metavar="X.Y", help="versions; by default all of pyproject.toml"
    )
    parser.add_argument(
        "--only", nargs="+", choices=STEPS, default=STEPS, help="steps after the installation"
    )
    return parser.parse_args(arguments)


# Versions of Python


def declared_versions():
    """Return the versions of Python that pyproject.toml names, oldest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: 3." in line]
    return sorted(names, key=lambda name: int(name.partition(".")[2]))


def find_python(version):
    """Return the path of a Python with venv, from PATH, pyenv or uv; None if there is none."""
    candidates = [sys.executable, shutil.which(f"python{version}")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates += sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True)
    if shutil.which("uv"):
        found = subprocess.run(
            ["uv", "python", "find", version], capture_output=True, text=True, check=False
        )
        candidates.append(found.stdout.strip())
    return next((str(path) for path in candidates if path and is_python(path, version)), None)


def is_python(path, version):
    """Whether a file runs as that version; the shims of pyenv exist for versions that do not."""
    code = "import sys, ensurepip, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == version


# Steps


class Rehearsal:
    """A temporary folder, and the results so far."""

    def __init__(self, folder):
        self.folder = folder
        self.rows = []

    def step(self, name, python, *commands, cwd=None, after=True):
        """Run commands until one fails, unless `after` is False; return whether all passed."""
        if not after:
            self.rows.append(Row(name, python, "not run", None))
            return False
        start = time.monotonic()
        log = LOGS / f"{python}-{name.partition(' ARGS')[0].replace(' ', '-')}.log"
        with open(log, "w", encoding="utf-8") as file:
            result = next(
                filter(None, (run(c, cwd or self.folder, file) for c in commands)), ""
            )
        row = Row(name, python, result or "passed", time.monotonic() - start)
        self.rows.append(row)
        print(f"{python:6} {name}: {row.result}, {row.seconds:.0f} s", flush=True)
        if result:
            print("\n".join(log.read_text(encoding="utf-8").splitlines()[-LINES_SHOWN:]))
        return not result


def run(command, cwd, file):
    """Run a command in a clean environment; return what went wrong, or an empty string."""
    variables = {name: value for name, value in os.environ.items() if name not in INHERITED}
    variables |= {"MPLBACKEND": "Agg", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    print("$", *command, file=file, flush=True)
    try:
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd,
            env=variables,
            stdout=file,
            stderr=subprocess.STDOUT,
            timeout=LONGEST_STEP,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"stopped after {LONGEST_STEP} s"
    except OSError as error:
        print(error, file=file)
        return "failed"
    return f"failed with status {done.returncode}" if done.returncode else ""


def build(rehearsal):
    """Clone HEAD, build sdist, wheel and notebook; return the wheel, or None."""
    version = ".".join(map(str, sys.version_info[:2]))
    checkout, dist = rehearsal.folder / "checkout", rehearsal.folder / "dist"
    venv, python = environment(rehearsal.folder / "tools", sys.executable)
    packages = ("build>=1.2", "twine>=6", "check-wheel-contents>=0.6", "sphinx-gallery>=0.18")
    ready = rehearsal.step(
        "tools",
        version,
        ("git", "clone", "--quiet", ROOT, checkout),
        venv,
        pip(python, *packages),
    )
    built = rehearsal.step(
        "sdist and wheel",
        version,
        (python, "-m", "build", "--outdir", dist, checkout),
        after=ready,
    )
    files = sorted(dist.glob("*"))
    wheels = [path for path in files if path.suffix == ".whl"]
    rehearsal.step(
        "contents of both",
        version,
        (python, "-m", "twine", "check", "--strict", *files),
        (
            python,
            "-m",
            "check_wheel_contents",
            "--config",
            checkout / "pyproject.toml",
            *wheels,
        ),
        after=built,
    )
    rehearsal.step(
        "notebook from example",
        version,
        (python, "-c", CONVERT, checkout / "examples" / f"{EXAMPLE}.py"),
        after=ready,
    )
    return wheels[0] if built else None


def rehearse(rehearsal, version, python, wheel, only):
    """Run the steps with one Python, and remove what they installed."""
    folder = rehearsal.folder / version
    folder.mkdir()
    if {"doctests", "notebook"} & set(only):
        use_wheel(rehearsal, version, python, wheel, only)
    if {"compare", "test"} & set(only):
        use_checkout(rehearsal, version, python, only)
    shutil.rmtree(folder, ignore_errors=True)


def use_wheel(rehearsal, version, system_python, wheel, only):
    """Install the wheel in a fresh environment, run its doctests and the notebook."""
    folder, checkout = rehearsal.folder / version, rehearsal.folder / "checkout"
    venv, python = environment(folder / "venv", system_python)
    installed = rehearsal.step(
        "install wheel",
        version,
        venv,
        pip(python, f"{wheel}[plot]", "pytest"),
        (python, "-m", "pip", "check"),
        after=wheel is not None,
    )

    # run in a folder without the checkout, so that only installed files are used
    if "doctests" in only:
        if installed:
            shutil.copy(checkout / "README.md", folder)
        options = ("-q", "-p", "no:cacheprovider", "-W", "error", "-o", FLAGS)
        targets = ("--doctest-modules", "--pyargs", "skmoderndata", "README.md")
        command = (python, "-m", "pytest", *options, "--doctest-glob=*.md", *targets)
        rehearsal.step("shipped doctests", version, command, cwd=folder, after=installed)
    if "notebook" in only:
        notebook = checkout / "examples" / f"{EXAMPLE}.ipynb"
        convert = ("-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", folder)
        rehearsal.step(
            "notebook",
            version,
            pip(python, "nbconvert", "ipykernel", "pandas"),
            (python, *convert, notebook),
            cwd=folder,
            after=installed and notebook.exists(),
        )


def use_checkout(rehearsal, version, python, only):
    """Run README's two commands in a fresh clone, in a short form."""
    clone = rehearsal.folder / version / "clone"
    source = rehearsal.folder / "checkout"
    cloned = rehearsal.step(
        "clone", version, ("git", "clone", "--quiet", source, clone), after=source.exists()
    )
    for task, arguments in (("compare", COMPARE), ("test", TEST)):
        if task in only:
            command = task_command(task, arguments, python)
            name = f'make {task} ARGS="{arguments}"'
            rehearsal.step(name, version, command, cwd=clone, after=cloned)


def task_command(task, arguments, python):
    """Return the command of a task: README's, or the one that README names without make."""
    if shutil.which("make"):
        return ("make", task, f"ARGS={arguments}", f"PYTHON={python}")
    return (python, "tools/dev.py", task, *arguments.split())


def environment(folder, python):
    """Return the command that creates a virtual environment, and the path of its Python."""
    inside = "Scripts/python.exe" if os.name == "nt" else "bin/python"
    return (python, "-m", "venv", folder), folder / inside


def pip(python, *requirements):
    """Return the command that installs packages."""
    return (python, "-m", "pip", "install", "--quiet", *requirements)


# Results


def table(rows):
    """Return the results as text with aligned columns."""
    cells = [("step", "Python", "result", "seconds")]
    cells += [
        (step, python, result, "" if seconds is None else f"{seconds:.0f}")
        for step, python, result, seconds in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        f"{step:{widths[0]}}  {python:{widths[1]}}  {result:{widths[2]}}  {seconds:>{widths[3]}}"
        for step, python, result, seconds in cells
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def verdict(rows, missing, *, fewest=FEWEST_PYTHONS):
    """Return a sentence for each problem; a missing Python alone is no failure."""
    problems = [
        f"Failed: {row.step}, Python {row.python} ({row.result})."
        for row in rows
        if row.result != "passed"
    ]
    if missing:
        problems.append(f"Not found on PATH, in pyenv or by uv: Python {', '.join(missing)}.")
    used = {row.python for row in rows if row.step in ("install wheel", "clone")}
    if len(used) < fewest:
        problems.append(f"Too few Pythons: {len(used)}, of at least {fewest}.")
    return problems
