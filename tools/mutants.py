"""Plant faults in the solvers and count how many the tests detect.

    python tools/mutants.py                       # 60 faults, by the default tests
    python tools/mutants.py --tier all --faults 7 12   # two of them, by all tests
    python tools/mutants.py --only RobustPCA --count 5
    python tools/mutants.py --baseline            # the same tests without a fault

Each fault is a change of one place: a sign, a number that is off by one, a dropped term, a wrong
axis, or two swapped arguments. The package is copied for each fault, so the checkout does
not change. The tests of the class, its common tests and the tests of the solvers run until the
first failure. A fault with which the tests never end counts as detected. Compiled loops are copied
with the package: run `--baseline` once to compile all of them, and exclude the tests that it
reports by `--without`.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOLVERS = Path("skmoderndata/_solvers")
# Number of seconds after which a run of pytest counts as hanging.
HANGING = {"default": 600, "all": 1800}
# Functions whose first two arguments may be exchanged.
SYMMETRIC = {"min", "max", "minimum", "maximum", "gcd", "isclose", "union1d"}

# Test file of each class, and the solvers that implement its mathematics.
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
    "SparseCoder": ("sparse_coding/test_sparse_coder.py", ["codes/groups.py"]),
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
    """Yield node, kind and change (a function without arguments) of each possible fault."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            yield node, "sign", lambda n=node: setattr(n, "op", _opposite(n.op))
            yield node, "dropped term", lambda n=node: setattr(n, "right", _zero())
        elif isinstance(node, ast.Constant) and type(node.value) is int and node.value < 10:
            yield node, "off by one", lambda n=node: setattr(n, "value", n.value + 1)
        elif isinstance(node, ast.keyword) and node.arg == "axis" and _is_axis(node.value):
            yield node.value, "wrong axis", lambda n=node.value: _flip_axis(n)
        elif isinstance(node, ast.Call) and _order_matters(node):
            yield node, "swapped arguments", lambda n=node: _swap(n)


def _opposite(op):
    return ast.Sub() if isinstance(op, ast.Add) else ast.Add()


def _zero():
    return ast.Constant(0)


def _is_axis(value):
    return isinstance(value, ast.Constant) and value.value in (0, 1)


def _flip_axis(number):
    number.value = 1 - number.value


def _order_matters(call):
    name = getattr(call.func, "attr", getattr(call.func, "id", None))
    return (
        len(call.args) >= 2
        and name not in SYMMETRIC
        and not any(isinstance(argument, ast.Starred) for argument in call.args[:2])
        and ast.dump(call.args[0]) != ast.dump(call.args[1])
    )


def _swap(call):
    call.args[:2] = call.args[1::-1]


def draw(count, seed, only):
    """Draw faults as (class, file, number of the fault in its file), evenly over classes."""
    rng = random.Random(seed)
    names = [only] if only else list(SUBJECTS)
    drawn = []
    while len(drawn) < count:
        name = names[len(drawn) % len(names)]
        file = rng.choice(SUBJECTS[name][1])
        tree = ast.parse((ROOT / SOLVERS / file).read_text(encoding="utf-8"))
        kinds = sorted({kind for _, kind, _ in faults(tree)})
        kind = rng.choice(kinds)
        places = [number for number, fault in enumerate(faults(tree)) if fault[1] == kind]
        fault = (name, file, rng.choice(places))
        if fault not in drawn:
            drawn.append(fault)
    return drawn


def plant(copy, file, number):
    """Change one place of a file in a copy of the checkout; return a description."""
    path = copy / SOLVERS / file
    source = path.read_text(encoding="utf-8")
    node, kind, change = list(faults(ast.parse(source)))[number]
    # edit bytes, because columns count bytes; line lengths and comments do not change
    lines = source.encode().split(b"\n")
    first, last = node.lineno - 1, node.end_lineno - 1
    head = lines[first][: node.col_offset]
    tail = lines[last][node.end_col_offset :]
    change()
    changed = head + ast.unparse(node).encode() + tail
    lines[first : last + 1] = [changed]
    path.write_bytes(b"\n".join(lines))
    forget_compiled(copy, path)
    return f"{file}:{node.lineno}: {kind}: {changed.decode().strip()}"


def forget_compiled(copy, path):
    """Remove the compiled loops of a module and of all modules that import it.

    Compiled callers contain the code of the functions that they call, directly or indirectly, and
    numba does not notice changes of it.
    """
    imported = {}
    for source in (copy / "skmoderndata").rglob("*.py"):
        text = source.read_text(encoding="utf-8")
        imported[source] = set(re.findall(r"^from (skmoderndata[\w.]*) import", text, re.M))

    stale = [path]
    for changed in stale:  # the list grows in the loop
        module = ".".join(changed.relative_to(copy).with_suffix("").parts)
        stale += [s for s, names in imported.items() if module in names and s not in stale]
    for source in stale:
        for cached in source.parent.glob(f"__pycache__/{source.stem}.*.nbi"):
            cached.unlink()


def failures(copy, names, tier, *, stop=True, without=()):
    """Return the tests of classes that fail in a copy of the checkout.

    If `stop`, return after the first failure. The tests `without`, which always fail, are
    excluded.
    """
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(copy),
    }
    options = ["-q", "--tb=no", "-p", "no:cacheprovider", *["-x"] * stop]
    options += ["-m", "not slow"] if tier == "all" else []
    options += [f"--deselect={test}" for test in without]
    files = [f"tests/{SUBJECTS[name][0]}" for name in names]
    rounds = [files, ["tests/common", "-k", " or ".join(names)], ["tests/solvers"]]
    failed = []
    for tests in rounds:
        if failed and stop:
            break
        command = [sys.executable, "-m", "pytest", *options, *tests]
        try:
            done = subprocess.run(
                command,
                cwd=copy,
                env=environment,
                capture_output=True,
                check=False,
                text=True,
                timeout=HANGING[tier],
            )
        except subprocess.TimeoutExpired:
            failed.append(f"{' '.join(tests)} hangs")
            continue
        if done.returncode:
            lines = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
            failed += lines or [f"{' '.join(tests)} ends with {done.returncode}"]
    return failed


def checkout(folder):
    """Copy the checkout, including compiled loops."""
    copy = Path(folder) / "checkout"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv*", ".git", "build"))
    return copy


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=60, help="number of faults to draw")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw")
    parser.add_argument(
        "--only", choices=list(SUBJECTS), help="draw faults of this class only"
    )
    parser.add_argument("--tier", choices=["default", "all"], default="default")
    parser.add_argument("--faults", type=int, nargs="+", help="numbers of the draw to plant")
    parser.add_argument("--without", nargs="+", default=[], help="tests to exclude")
    parser.add_argument(
        "--baseline", action="store_true", help="run the tests without a fault"
    )
    parser.add_argument(
        "--list", action="store_true", help="list the faults without running tests"
    )
    options = parser.parse_args()
    if options.baseline:
        names = [options.only] if options.only else list(SUBJECTS)
        # run in place, so that compiled loops are kept
        failed = failures(ROOT, names, options.tier, stop=False)
        print("\n".join(failed) or "all pass")
        return 0

    drawn = list(enumerate(draw(options.count, options.seed, options.only)))
    if options.faults:
        drawn = [drawn[i] for i in options.faults]
    missed = 0
    for i, (name, file, number) in drawn:
        with tempfile.TemporaryDirectory() as folder:
            copy = checkout(folder)
            fault = plant(copy, file, number)
            if options.list:
                print(f"{i} {name} {fault}")
                continue
            failed = failures(copy, [name], options.tier, without=options.without)
        missed += not failed
        print(
            f"{i} {'detected' if failed else 'MISSED  '} {name} {fault} | {' '.join(failed)}",
            flush=True,
        )
    if not options.list:
        print(f"{len(drawn) - missed} of {len(drawn)} detected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
