"""Set up a virtual environment in the checkout and run one task in it.

    python3 tools/dev.py compare [--only NAME] [--quick]
    python3 tools/dev.py test | test-all | test-other-rounding | test-without-numba | test-oldest
        | evidence
    python3 tools/dev.py coverage | check | docs | wheel
    python3 tools/dev.py release-rehearsal [--python 3.12] | store-models VERSION
    python3 tools/dev.py peers | race | away | papers | changelog
    python3 tools/dev.py new METHOD=RobustPCA MODULE=decomposition

Needs only Python 3.11 or newer with its venv module. `make TASK` does the same.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# One folder for each set of dependencies: in a shared folder, a task could use a package that only
# another task installs, and fail in a fresh clone
VENV = ROOT / ".venv"
VENV_DOCS = ROOT / ".venv-docs"
VENV_EVIDENCE = ROOT / ".venv-evidence"  # the environment with a cluster
VENV_BENCH = ROOT / ".venv-bench"  # the environment with other libraries for the same work
# the environment with the lowest version of every dependency
VENV_OLDEST = ROOT / ".venv-oldest"


def main(arguments):
    """Run the task named by the first argument."""
    if not arguments or arguments[0] not in TASKS:
        return f"usage: python3 tools/dev.py TASK [options]; tasks: {', '.join(TASKS)}"
    problem = missing()
    if problem:
        return problem
    os.chdir(ROOT)
    name, *rest = arguments
    return TASKS[name](rest)


def missing():
    """Return a sentence about what this machine lacks, or None."""
    if sys.version_info < (3, 11):
        found = ".".join(map(str, sys.version_info[:3]))
        return f"skmoderndata needs Python 3.11 or newer, but this is {found}."
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        return (
            "Python's venv module is incomplete: install it first, for example with "
            "`apt install python3-venv`."
        )
    return None


def environment(folder, extra, *pins):
    """Make the virtual environment once per content of pyproject.toml; return its Python."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    checksum = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    stamp = folder / f".installed-{extra}"
    if python.exists() and stamp.exists() and stamp.read_text() == checksum:
        return python
    if not python.exists():
        print(f"Setting up {folder.relative_to(ROOT)} ...", flush=True)
        venv.create(folder, with_pip=True, clear=folder.exists())
    print(
        f"Installing skmoderndata[{extra}] (the first time takes a minute or two) ...",
        flush=True,
    )
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*install, "--editable", f"{ROOT}[{extra}]", *pins], check=False)
    if done.returncode:
        sys.exit(f"pip could not install skmoderndata[{extra}]; its message is above.")
    stamp.write_text(checksum)
    return python


def run(python, *command, **variables):
    """Run `python COMMAND` from the root of the checkout; return its exit status."""
    env = {**os.environ, **variables}
    try:
        return subprocess.run([python, *command], cwd=ROOT, env=env, check=False).returncode
    except KeyboardInterrupt:
        return 130


def compare(rest):
    """Tune every method beside its scikit-learn baseline and write the report."""
    return run(environment(VENV, "plot"), "-m", "benchmarks.compare", *rest, MPLBACKEND="Agg")


ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


PARALLEL = ("-n", "auto", "--dist", "worksteal")


def test(rest):
    """Run the default tier of the tests, with doctests and warnings as errors."""
    return run_tests(environment(VENV, "test"), *(rest or PARALLEL))


def test_all(rest):
    """Run all tests except the slow ones."""
    return run_tests(environment(VENV, "test"), "-m", "not slow", *(rest or PARALLEL))


def run_tests(python, *options, **variables):
    """Compile all loops, then run pytest with one BLAS thread for each worker."""
    variables = {**ONE_THREAD, **variables}
    if "-n" in options:  # otherwise each worker would compile the same loops
        status = run(python, "-m", "skmoderndata.compile", "--jobs", "-1", **variables)
        if status:
            return status
    return run(python, "-m", "pytest", "-q", *options, **variables)


# Target processors for BLAS and Numba, whose sums are rounded differently.
OTHER_ROUNDING = {
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "generic": {
        "OPENBLAS_CORETYPE": "Nehalem",  # Prescott breaks LAPACK in single precision
        "NUMBA_CPU_NAME": "generic",
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
        "PYTHONHASHSEED": "1",
    },
}


def test_other_rounding(rest):
    """Run the default tier as on three other processors, or on the named one."""
    names = [rest[0]] if rest and rest[0] in OTHER_ROUNDING else list(OTHER_ROUNDING)
    options = [option for option in rest if option not in OTHER_ROUNDING] or PARALLEL
    python = environment(VENV, "test")
    status = 0
    for name in names:
        print(f"Rounding as on {name}:", flush=True)
        status = max(status, run_tests(python, *options, **OTHER_ROUNDING[name]))
    return status


# Classes whose checks take minutes with interpreted loops.
SLOW_WITHOUT_NUMBA = (
    "CoreVectorMachine",
    "CoreVectorRanker",
    "CoreVectorRegressor",
    "DictionaryInpainter",
    "NuSVOR",
)


def test_without_numba(rest):
    """Run scikit-learn's checks of the default settings as if numba were not installed."""
    python = environment(VENV, "test")
    skipped = " or ".join(SLOW_WITHOUT_NUMBA)
    selection = (
        "tests/common/test_contract.py",
        "-k",
        f"test_sklearn_contract and not ({skipped})",
    )
    ignored = ("-W", "ignore:numba is not installed")
    variables = {**ONE_THREAD, "TEST_WITHOUT": "numba highspy"}
    options = (*selection, *ignored, *(rest or PARALLEL))
    return run(python, "-m", "pytest", "-q", *options, **variables)


def coverage(rest):
    """Run the suite and write the lines that it reached to build/coverage."""
    options = ["--cov", "--cov-report=term:skip-covered", "--cov-report=html:build/coverage"]
    return test([*PARALLEL, *options, *rest])


def test_oldest(rest):
    """Run the test suite with the lowest version of every run-time dependency."""
    return run_tests(environment(VENV_OLDEST, "test", *oldest()), *(rest or PARALLEL))


def oldest():
    """Return requirements of the lowest version of every run-time dependency."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = [line.split(";")[0].split(",")[0].strip() for line in project["dependencies"]]
    return [bound.replace(">=", "==") + ".*" for bound in bounds]


def evidence(rest):
    """Run the tests marked slow, with twenty seeds."""
    options = ["-m", "slow", "--timeout=3600", *(rest or PARALLEL)]
    python = environment(VENV_EVIDENCE, "test,distributed")
    return run_tests(python, *options, TEST_SEEDS="all")


def check(rest):
    """Check lint, format, types, house rules and generated text."""
    python = environment(VENV, "test")
    steps = [
        ("-m", "ruff", "check", "."),
        ("-m", "ruff", "format", "--check", "."),
        ("-m", "mypy"),
        ("tools/catalogue.py", "--check"),
        ("-m", "pytest", "-q", "tests/common/test_house_rules.py"),
    ]
    return max([run(python, *step) for step in steps])


def docs(rest):
    """Build the documentation into build/docs; warnings are errors."""
    python = environment(VENV_DOCS, "docs")
    command = [
        "-m",
        "sphinx",
        "-E",
        "-W",
        "--keep-going",
        "-b",
        "html",
        *rest,
        "docs",
        "build/docs",
    ]
    status = run(python, *command, MPLBACKEND="Agg", **ONE_THREAD)
    if status == 0:
        print("Documentation: build/docs/index.html")
    return status


def peers(rest):
    """Compare our methods with other libraries for the same work."""
    return run(environment(VENV_BENCH, "bench"), "-m", "benchmarks.peers", *rest, **ONE_THREAD)


def away(rest):
    """Run tasks of other projects with their programs and with ours."""
    return run(environment(VENV_BENCH, "bench"), "-m", "benchmarks.away", *rest, **ONE_THREAD)


def race(rest):
    """Compare our methods with other libraries at sizes drawn at random."""
    return run(environment(VENV_BENCH, "bench"), "-m", "benchmarks.race", *rest, **ONE_THREAD)


def papers(rest):
    """Print published figures next to ours."""
    return run(environment(VENV, "plot"), "-m", "benchmarks.papers", *rest)


def changelog(rest):
    """Collect the fragments of docs/changes (--draft only shows them)."""
    return run(environment(VENV_DOCS, "docs"), "-m", "towncrier", "build", *rest)


def new(rest):
    """Write the files of a new method."""
    return run(environment(VENV, "test"), "tools/new_method.py", *rest)


def wheel(rest):
    """Build twice, install only the wheel in a clean environment, run the shipped doctests."""
    python = environment(VENV, "test")

    with tempfile.TemporaryDirectory() as name:
        clean = Path(name)
        if build(python, ROOT, clean / "dist"):
            return 1
        different = built_again(python, clean / "dist", clean / "again")
        if different:
            print(f"A second build has other contents: {', '.join(different)}")
            return 1

        (wheel_file,) = (clean / "dist").glob("*.whl")
        # install into a new environment, without the packages for development
        venv.create(clean / "venv", with_pip=True)
        alone = clean / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if run(alone, *install, str(wheel_file), "pytest"):
            return 1

        # run from a folder without the checkout, so that only installed files are used
        shutil.copy(ROOT / "README.md", clean)

        options = ["-q", "-p", "no:cacheprovider", "-W", "error", "-o", FLAGS]
        targets = ["--doctest-modules", "--pyargs", "skmoderndata", "README.md"]
        return subprocess.run(
            [alone, "-m", "pytest", *options, "--doctest-glob=*.md", *targets],
            cwd=clean,
            check=False,
        ).returncode


def release_rehearsal(rest):
    """Build HEAD and use it as a stranger would, with each Python; print a table of the steps."""
    sys.path.insert(0, str(ROOT / "tools"))
    import rehearsal

    return rehearsal.main(rest)


def store_models(rest):
    """Store fitted models for later versions, written with the oldest dependencies."""
    python = environment(VENV_OLDEST, "test", *oldest())
    return run(python, "tools/store_models.py", *rest, **ONE_THREAD)


def build(python, source, folder):
    """Build the sdist and the wheel into `folder`, with a date independent of the clock."""
    date = os.environ.get("SOURCE_DATE_EPOCH", "1735689600")
    options = ("--outdir", str(folder), str(source))
    return run(python, "-m", "build", *options, SOURCE_DATE_EPOCH=date)


def built_again(python, dist, folder):
    """Build from the unpacked sdist in another folder; return the names of files that differ."""
    (sdist,) = dist.glob("*.tar.gz")
    shutil.unpack_archive(sdist, folder, filter="data")
    (source,) = folder.iterdir()
    if build(python, source, folder / "dist"):
        return ["the sdist cannot be built"]
    first, second = (
        {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files.iterdir()}
        for files in (dist, folder / "dist")
    )
    return sorted(name for name in first | second if first.get(name) != second.get(name))


FLAGS = "doctest_optionflags=NORMALIZE_WHITESPACE ELLIPSIS"
TASKS = {
    task.__name__.replace("_", "-"): task
    for task in (
        compare, test, test_all, test_other_rounding, test_without_numba, test_oldest, evidence,
        coverage, check, docs, wheel, release_rehearsal, store_models, peers, race, away, papers,
        changelog, new,
    )
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
