"""Seed faults in the solvers and count how many the tests notice.

    python tools/mutants.py                     # 60 faults, by the default tests
    python tools/mutants.py --tier all          # what the default tests miss, by all tests
    python tools/mutants.py --only RobustPCA --count 5

Each fault is a change of one place: a sign, a number that is off by one, a dropped term, a wrong
axis, or two swapped arguments. The package is copied for each fault, so the checkout stays as
it is. The tests that run are those of the class, of the solvers, and the common tests of the
class; the first failure ends them.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOLVERS = Path("skmoderndata/_solvers")

# Class -> its test file and the solvers that hold its mathematics.
SUBJECTS = {
    "RobustPCA": ("decomposition/test_robust_pca.py", ["lowrank/refit.py", "lowrank/svt.py"]),
    "MultiAssignmentClustering": (
        "cluster/test_multi_assignment_clustering.py",
        ["boolean_data/multi_assignment.py"],
    ),
    "SupportFeatureMachine": (
        "svm/test_support_feature_machine.py",
        ["margins/feature_exchange.py", "margins/zero_norm.py"],
    ),
    "SparseNMF": (
        "decomposition/test_sparse_nmf.py",
        ["factors/factorization.py", "factors/factor_updates.py"],
    ),
    "KSVD": ("decomposition/test_ksvd.py", ["dictionaries/ksvd.py", "codes/greedy.py"]),
    "KernelCCA": ("cross_decomposition/test_kernel_cca.py", ["kernel/canonical.py"]),
    "SlowFeatureAnalysis": (
        "decomposition/test_slow_feature_analysis.py",
        ["series/slow_features.py", "series/expansion.py"],
    ),
    "CoreVectorMachine": (
        "svm/test_core_vector_machine.py",
        ["margins/core.py", "margins/core_set.py"],
    ),
    "GroupLasso": ("linear_model/test_group_lasso.py", ["codes/groups.py"]),
    "BasisPursuit": ("linear_model/test_basis_pursuit.py", ["recovery/basis_pursuit.py"]),
    "KernelKMeans": ("cluster/test_kernel_k_means.py", ["kernel/kernel_k_means.py"]),
    "NuSVOR": ("ranking/test_nu_svor.py", ["margins/nu_ranking.py"]),
    "ConvexNMF": ("decomposition/test_convex_nmf.py", ["factors/convex_factorization.py"]),
    "TimeSeriesKMeans": ("cluster/test_time_series_k_means.py", ["alignment/warping.py"]),
    "BooleanKMeans": ("cluster/test_boolean_k_means.py", ["boolean_data/boolean_k_means.py"]),
    "NuclearNormImputer": ("impute/test_nuclear_norm_imputer.py", ["lowrank/completion.py"]),
    "L2SVC": ("svm/test_l2_svc.py", ["margins/squared_hinge.py"]),
    "OnlineRobustPCA": (
        "decomposition/test_online_robust_pca.py",
        ["lowrank/online_pursuit.py"],
    ),
}


def faults(tree):
    """Yield line, kind and change (a function without arguments) of each possible fault."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            yield node.lineno, "sign", lambda n=node: setattr(n, "op", _opposite(n.op))
            yield node.lineno, "dropped term", lambda n=node: setattr(n, "right", _zero())
        elif isinstance(node, ast.Constant) and type(node.value) is int and node.value < 10:
            yield node.lineno, "off by one", lambda n=node: setattr(n, "value", n.value + 1)
        elif isinstance(node, ast.keyword) and node.arg == "axis":
            yield node.value.lineno, "wrong axis", lambda n=node: _flip_axis(n)
        elif isinstance(node, ast.Call) and len(node.args) >= 2:
            yield node.lineno, "swapped arguments", lambda n=node: _swap(n)


def _opposite(op):
    return ast.Sub() if isinstance(op, ast.Add) else ast.Add()


def _zero():
    return ast.Constant(0)


def _flip_axis(keyword):
    if isinstance(keyword.value, ast.Constant) and keyword.value.value in (0, 1):
        keyword.value = ast.Constant(1 - keyword.value.value)


def _swap(call):
    call.args[:2] = call.args[1::-1]


def draw(count, seed, only):
    """Draw faults as (class, file, number of the fault in its file), evenly over the classes."""
    rng = random.Random(seed)
    names = [only] if only else list(SUBJECTS)
    drawn = []
    for i in range(count):
        name = names[i % len(names)]
        file = rng.choice(SUBJECTS[name][1])
        tree = ast.parse((ROOT / SOLVERS / file).read_text(encoding="utf-8"))
        kinds = sorted({kind for _, kind, _ in faults(tree)})
        kind = rng.choice(kinds)
        places = [number for number, fault in enumerate(faults(tree)) if fault[1] == kind]
        drawn.append((name, file, rng.choice(places)))
    return drawn


def plant(copy, file, number):
    """Change one place of a file in a copy of the checkout; return what was done."""
    path = copy / SOLVERS / file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    line, kind, change = list(faults(tree))[number]
    before = ast.unparse(tree)
    change()
    after = ast.unparse(ast.fix_missing_locations(tree))
    path.write_text(after, encoding="utf-8")

    # Compiled callers hold the code of what they call: numba does not see that it changed.
    for source in (copy / "skmoderndata").rglob("*.py"):
        if f"_solvers.{path.parent.name}." in source.read_text(encoding="utf-8"):
            for cached in source.parent.glob(f"__pycache__/{source.stem}.*.nbi"):
                cached.unlink()
    changed = [
        new
        for old, new in zip(before.split("\n"), after.split("\n"), strict=False)
        if old != new
    ]
    return f"{file}:{line}: {kind}: {changed[0].strip() if changed else 'nothing'}"


def notices(copy, name, tier):
    """Whether the tests of a class fail in a copy of the checkout."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(copy),
    }
    options = ["-q", "-x", "-p", "no:cacheprovider", "--timeout=300"]
    options += ["-m", "not slow"] if tier == "all" else []
    file = f"tests/{SUBJECTS[name][0]}"
    rounds = [[file], ["tests/solvers"], ["tests/common", "-k", name]]
    for tests in rounds:
        command = [sys.executable, "-m", "pytest", *options, *tests]
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, check=False
        )
        if done.returncode == 1:
            return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=60, help="number of faults")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--only", choices=list(SUBJECTS), help="one class")
    parser.add_argument("--tier", choices=["default", "all"], default="default")
    options = parser.parse_args()

    missed = []
    for name, file, number in draw(options.count, options.seed, options.only):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "checkout"
            shutil.copytree(
                ROOT, copy, ignore=shutil.ignore_patterns(".venv*", ".git", "build")
            )
            fault = plant(copy, file, number)
            seen = notices(copy, name, options.tier)
        print(f"{'noticed' if seen else 'MISSED '} {name} {fault}", flush=True)
        if not seen:
            missed.append(fault)
    print(f"{options.count - len(missed)} of {options.count} noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
