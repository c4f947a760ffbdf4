"""The house rules hold for every file and every class of the project."""

import subprocess
import sys

import pytest

import skmoderndata
from benchmarks.compare.comparisons import COMPARISONS
from benchmarks.compare.no_comparison import NO_COMPARISON, without_comparison
from skmoderndata._estimator.registry import all_estimators, all_kernels
from tests.common import rules
from tests.common.known_failures import KNOWN_FAILURES
from tests.common.parameter_sets import PARAMETER_SETS
from tests.oracles.kernel_twins import all_twins

PACKAGE = sorted((rules.ROOT / "skmoderndata").rglob("*.py"))
TESTS = sorted((rules.ROOT / "tests").rglob("*.py"))
CLASSES = all_estimators() + all_kernels()
FUNCTIONS = rules.public_functions()


def name(path):
    return str(path.relative_to(rules.ROOT))


def module_of(path):
    """`_solvers` for skmoderndata/_solvers/common/linalg.py: the first part below the package."""
    parts = path.relative_to(rules.ROOT / "skmoderndata").with_suffix("").parts
    return parts[0]


@pytest.mark.parametrize("path", PACKAGE, ids=name)
def test_package_file(path):
    source = path.read_text(encoding="utf-8")
    module = module_of(path)
    broken = rules.prints(source) + rules.relative_imports(source) + rules.bare_words(source)
    broken += rules.eager_heavy_imports(source) + rules.fast_math(source)
    broken += rules.dropped_comparisons(source) + rules.hidden_divergence(source)
    if name(path) not in rules.PRIVATE_SKLEARN:
        broken += rules.private_sklearn_imports(source)
    if path.name != "__init__.py":
        broken += rules.upward_imports(source, module)
        broken += rules.private_names_across_files(source)
    if module == "_solvers" and path.parent.name != "_solvers":
        broken += rules.solver_imports(source, path.parent.name)
    if module == "kernels" and path.name != "__init__.py":
        wing = path.stem if path.parent.name == "kernels" else path.parent.name
        broken += rules.wing_imports(source, wing)
    broken += rules.broken_loops(source) + rules.other_words_for_results(source)
    # estimators may have any number of parameters
    broken += rules.oversized(source, solver=module == "_solvers")
    assert broken == []


@pytest.mark.parametrize(
    "house", ["_solvers", "_estimator", "_samples", "kernels", "_kernelized", "_guide"]
)
def test_house_has_no_cycles(house):
    """A cycle shows even where an import hides in a function."""
    inside = [path for path in PACKAGE if module_of(path) == house]
    modules = {
        ".".join(path.relative_to(rules.ROOT).with_suffix("").parts): path for path in inside
    }
    sources = {module: path.read_text(encoding="utf-8") for module, path in modules.items()}
    assert rules.import_cycles(sources) == []


@pytest.mark.parametrize("path", sorted((rules.ROOT / "examples").glob("*.py")), ids=name)
def test_example_draws_each_figure_in_one_block(path):
    assert rules.figures_of_other_blocks(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", TESTS, ids=name)
def test_test_file(path):
    source = path.read_text(encoding="utf-8")
    broken = rules.dropped_comparisons(source)
    if path.parent.name != "common":
        broken += rules.switched_off_tests(source)
    assert broken == []


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_class(cls):
    broken = rules.wrong_defaults(cls) + rules.missing_sections(cls)
    broken += rules.undocumented_methods(cls) + rules.broken_promises(cls)
    broken += rules.missing_twin(cls, all_twins())
    assert broken == []


def test_tables_have_entries_of_public_classes():
    tables = rules.Tables(PARAMETER_SETS, KNOWN_FAILURES, COMPARISONS, NO_COMPARISON)
    assert rules.broken_tables(tables, [*all_estimators(), *all_kernels()]) == []


def test_every_method_and_kernel_family_is_compared_or_has_a_reason():
    reasons = without_comparison()
    assert [name for name, reason in reasons.items() if not reason] == []


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_public_function(function):
    assert rules.wrong_defaults(function) == []


# Classes that cannot be made without arguments and have tests of their own, like `GridSearchCV`.
NEEDS_ARGUMENTS = {"EntrySearchCV", "KnockoffSelector"}


def test_every_public_estimator_has_a_card():
    import importlib
    import inspect

    from sklearn.base import BaseEstimator

    from skmoderndata._estimator.registry import public_modules

    without = []
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        assert sorted(module.__all__) == list(module.__all__), (
            f"{module_name}.__all__ is not sorted"
        )
        for public in module.__all__:
            value = getattr(module, public)
            if inspect.isclass(value) and issubclass(value, BaseEstimator):
                if "_card" not in vars(value):
                    without.append(public)
    assert set(without) == NEEDS_ARGUMENTS


def test_method_files_are_public_or_private_by_name():
    loose = [
        name(path)
        for path in PACKAGE
        if path.parent.name != "skmoderndata"
        and not any(part.startswith("_") for part in path.relative_to(rules.ROOT).parts)
    ]
    assert loose == []


@pytest.mark.parametrize("house", ["_samples", "kernels", "_kernelized"])
def test_folders_hold_a_dozen_files(house):
    top = rules.ROOT / "skmoderndata" / house
    folders = [top, *(path for path in top.iterdir() if path.is_dir())]
    assert [line for folder in folders for line in rules.crowded(folder)] == []


def loaded_by(statement):
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()


def test_import_is_cheap():
    loaded = set(loaded_by("import skmoderndata"))
    assert loaded.isdisjoint({"cvxpy", "numba", "matplotlib", "scipy", "sklearn"})


def test_no_module_loads_heavy_packages_on_import():
    loaded = set(loaded_by("import skmoderndata; skmoderndata.all_estimators()"))
    assert loaded.isdisjoint({"cvxpy", "numba", "matplotlib"})


def test_core_estimators_and_modules_are_at_the_top():
    import importlib

    from skmoderndata._estimator.registry import public_modules

    assert {"KSVD", "svm"} <= set(dir(skmoderndata))
    assert "SVDD" not in dir(skmoderndata)
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        assert getattr(skmoderndata, module_name.rpartition(".")[2]) is module

    core = {cls.__name__ for cls in all_estimators() if cls._card.tier == "core"}
    searches = {"EntrySearchCV"}  # search classes have no card
    functions = {"all_estimators", "all_kernels", "blocks_config", "report", "suggest"}
    functions |= {"trusted_types"}
    assert set(skmoderndata.__all__) == core | searches | functions | {"__version__"}
    for cls in all_estimators():
        if cls._card.tier == "core":
            assert getattr(skmoderndata, cls.__name__) is cls


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_other_classes_are_named_at_the_top(cls):
    if cls.__name__ not in skmoderndata.__all__:
        module = ".".join(cls.__module__.split(".")[:2])
        with pytest.raises(AttributeError, match=f"import it from {module}$"):
            getattr(skmoderndata, cls.__name__)


def test_star_imports_core_estimators():
    names = {}
    exec("from skmoderndata import *", names)
    assert {"KSVD", "RobustPCA", "all_estimators"} <= set(names)
    assert "BlendedSpectrum" not in names
    assert set(skmoderndata.__all__) <= set(names)
    core = [cls for cls in all_estimators() if cls._card.tier == "core"]
    assert all(names[cls.__name__] is cls for cls in core)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("NoSuchThing", "'skmoderndata' has no attribute 'NoSuchThing'"),
        ("KernelCca", "did you mean 'KernelCCA', of skmoderndata.cross_decomposition"),
        ("mutual_coherence", "import it from skmoderndata.sparse_coding"),
    ],
)
def test_unknown_names_say_where_to_look(name, hint):
    with pytest.raises(AttributeError, match=hint):
        getattr(skmoderndata, name)
