"""House rules as functions: each takes sources or a class and returns what breaks the rule.

`test_house_rules.py` applies them to the project; `test_rules_can_fail.py` shows that each one
fails on a broken example.
"""

import ast
import importlib
import inspect
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from numpydoc.docscrape import ClassDoc, FunctionDoc

from skmoderndata._estimator.registry import KernelCard, method_stem, public_modules
from tests.common.page import KEPT, nodes_of, tree_of

ROOT = Path(__file__).resolve().parents[2]
EVIDENCE = ("oracle", "certificate", "recovery", "paper", "invariance", "edge")
COMPARISONS = ("allclose", "array_equal", "isclose", "array_equiv", "approx")
LAZY_MODULES = ("cvxpy", "numba", "matplotlib")

# Folders that each folder may import from, from the bottom up.
LAYERS = (
    ("_version", "exceptions"),
    ("_solvers",),
    ("_estimator",),
    ("_samples",),
    ("kernels", "datasets"),
    ("_kernelized", "_guide"),
)
# Files that import private names of scikit-learn for all other files.
PRIVATE_SKLEARN = (
    "skmoderndata/_estimator/compat.py",
    "skmoderndata/_solvers/common/arrays.py",
)
# Folders of `_solvers` that each of its folders may import from, besides itself and `common`.
FLOORS = {
    "common": (),
    "codes": (),
    "dictionaries": ("codes",),
    "recovery": ("codes", "dictionaries"),
}
# Folders of `kernels` that each of its folders may import from, besides itself and `_base`.
WINGS = {"_generative": ("_strings",)}
MOST_FILES_IN_FOLDER = 12  # Maximum number of files in `kernels` and in each private folder.


def layer_of(module):
    """Height of `skmoderndata.<module>` in the house; method modules are the top."""
    for height, names in enumerate(LAYERS):
        if module in names:
            return height
    return len(LAYERS)


@lru_cache(KEPT)
def imported_names(source):
    """Return `(dotted module, imported name or None, line, inside a function?)` of each import."""
    inside = {
        child
        for function in nodes_of(source)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.walk(function)
    }
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            found += [(alias.name, None, node.lineno, node in inside) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found += [
                (node.module, alias.name, node.lineno, node in inside) for alias in node.names
            ]
    return found


def relative_imports(source):
    """Imports are absolute."""
    return [
        f"line {node.lineno}: relative import"
        for node in nodes_of(source)
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]


def _shared(name):
    """Whether a file holds what the methods of its module share: `_base`, `_nmf_base`."""
    return name == "_base" or name.endswith("_base")


def upward_imports(source, own_module):
    """Imports point downwards; method modules never import each other."""
    found = []
    own = layer_of(own_module)
    for module, name, line, _ in imported_names(source):
        if module is None or module.split(".")[0] != "skmoderndata":
            continue
        parts = module.split(".")
        target = parts[1] if len(parts) > 1 else name
        if target is None:
            continue
        same = target == own_module
        if not same and layer_of(target) >= own and own > 0:
            found.append(f"line {line}: {own_module} imports {target}")
        if same and own == len(LAYERS) and len(parts) > 2 and parts[2].startswith("_"):
            if not _shared(parts[2]):
                found.append(f"line {line}: one method file imports another, {module}")
    return found


def solver_imports(source, folder):
    """Folders of `_solvers` stand on the floors below them, most on `common` only."""
    return _imports_within("_solvers", source, folder, {"common", *FLOORS.get(folder, ())})


def wing_imports(source, wing):
    """Wings of `kernels` stand on its `_base`, few on another wing; `_base` stands on none."""
    below = () if wing == "_base" else ("_base", *WINGS.get(wing, ()))
    return _imports_within("kernels", source, wing, below)


def _imports_within(house, source, room, below):
    """Imports from rooms of the same house that are not below a room."""
    return [
        f"line {line}: {room} imports {module}"
        for module, name, line, _ in imported_names(source)
        if module and f"{module}.{name}".startswith(f"skmoderndata.{house}.")
        if f"{module}.{name}".split(".")[2] not in {room, *below}
    ]


def crowded(folder):
    """A folder is read at a glance: it holds a dozen files."""
    count = sum(path.name != "__init__.py" for path in folder.glob("*.py"))
    most = MOST_FILES_IN_FOLDER
    return [f"{count} files in {folder.name}, at most {most}"] if count > most else []


def private_names_across_files(source):
    """No underscored name of ours is imported from another file."""
    return [
        f"line {line}: {name} of {module}"
        for module, name, line, _ in imported_names(source)
        if module and module.startswith("skmoderndata.")
        if name and name.startswith("_") and name != "__version__"
    ]


def import_cycles(sources):
    """Return the cycles among modules, given as dotted name -> source."""
    graph = {
        module: {target for target, name, _, _ in imported_names(source) if target in sources}
        for module, source in sources.items()
    }
    found = []
    done = set()

    def visit(module, path):
        if module in path:
            found.append(" -> ".join([*path[path.index(module) :], module]))
        elif module not in done:
            for target in sorted(graph[module]):
                visit(target, [*path, module])
            done.add(module)

    for module in sorted(graph):
        visit(module, [])
    return found


def broken_loops(source):
    """No `break` out of a loop over `Iterations`: callbacks would not hear of the last pass."""
    found = []
    for function in nodes_of(source):
        if not isinstance(function, ast.FunctionDef):
            continue
        named = {"it"} | {
            ast.unparse(target)
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            and ast.unparse(node.value).startswith("Iterations(")
            for target in node.targets
        }
        for loop in ast.walk(function):
            if isinstance(loop, ast.For) and (
                ast.unparse(loop.iter) in named
                or ast.unparse(loop.iter).startswith("Iterations(")
            ):
                found += [f"line {line}: break" for line in _breaks(loop.body)]
    return found


def _breaks(body):
    """Lines of the breaks that leave the loop with this body."""
    for node in body:
        if isinstance(node, ast.Break):
            yield node.lineno
        elif isinstance(node, ast.For | ast.While):
            yield from _breaks(node.orelse)
        elif not isinstance(node, ast.FunctionDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _breaks(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from _breaks(handler.body)


# Quantities that are compared with a tolerance, identified by the last word of the name or by the
# word before "sq".
STOPPING_WORDS = ("gap", "gaps", "residual", "residuals", "violation", "violations", "missed")


def hidden_divergence(source):
    """No gap, residual or stopping value is cut at zero by hand: NaN would count as converged.

    `max(0.0, nan)` is 0.0, so that 0.0 never comes first. What becomes a gap, a residual or what
    is compared with a tolerance, also by way of a local name, is made by `relative_gap`, which is
    infinite there.
    """
    tree = tree_of(source)
    broken = [
        f"line {node.lineno}: max(0.0, x) is 0.0 where x is NaN: max(x, 0.0)"
        for node in ast.walk(tree)
        if _called(node) == "max" and len(node.args) > 1 and _is_zero(node.args[0])
        and isinstance(node.args[0].value, float)
    ]  # fmt: skip

    functions = (ast.FunctionDef, ast.Lambda, ast.Module)
    for scope in (node for node in ast.walk(tree) if isinstance(node, functions)):
        values = _local_values(scope)
        for sink in _stopping_values(scope):
            broken += [
                f"line {cut.lineno}: {ast.unparse(cut)} becomes a gap: use relative_gap"
                for cut in _cuts_at_zero(sink, values)
            ]
    return sorted(set(broken))


def _called(node):
    """Last word of the function that a node calls, "" for other nodes."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _is_zero(node):
    return (
        isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == 0
    )


def _stops(name):
    """Whether something of this name is compared with a tolerance."""
    words = name.strip("_").removesuffix("_sq").split("_")
    return words[-1] in STOPPING_WORDS


def _own_nodes(scope):
    """Nodes of a function without the nodes of inner functions."""
    inner = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, inner):
            waiting += ast.iter_child_nodes(node)


def _assigned(scope):
    """Yield `(name, value)` of the assignments of a function; tuples are taken apart."""
    for node in _own_nodes(scope):
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.keyword | ast.NamedExpr):
            pairs = [(getattr(node, "target", node), node.value)]
        else:
            continue
        for target, value in pairs:
            both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            if both and len(target.elts) == len(value.elts):
                pairs += zip(target.elts, value.elts, strict=True)
                continue
            target = target.value if isinstance(target, ast.Subscript) else target
            yield (
                getattr(target, "id", getattr(target, "attr", getattr(target, "arg", ""))),
                value,
            )


def _local_values(scope):
    """Return the expressions that each local name is given."""
    values = {}
    for name, value in _assigned(scope):
        values.setdefault(name, []).append(value)
    return values


def _stopping_values(scope):
    """Expressions that become a gap, a residual, or are compared with a tolerance."""
    yield from (value for name, value in _assigned(scope) if name and _stops(name))
    makes_gap = isinstance(scope, ast.FunctionDef) and _stops(scope.name)
    for node in _own_nodes(scope):
        if isinstance(node, ast.Return) and makes_gap and node.value is not None:
            yield node.value
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            of_tol = [any(_is_tolerance(part) for part in ast.walk(side)) for side in sides]
            yield from (side for side, tol in zip(sides, of_tol, strict=True) if not all(of_tol)
                        and any(of_tol) and not tol)  # fmt: skip


def _is_tolerance(node):
    name = getattr(node, "id", getattr(node, "attr", ""))
    return isinstance(name, str) and "tol" in name.split("_")


def _cuts_at_zero(node, values, seen=()):
    """Yield the calls `max(x, 0)` and `maximum(x, 0)` whose value an expression passes on."""
    if _called(node) in ("max", "maximum") and any(_is_zero(one) for one in node.args):
        yield node
    if isinstance(node, ast.Name) and node.id not in seen and not _is_tolerance(node):
        for value in values.get(node.id, ()):
            yield from _cuts_at_zero(value, values, (*seen, node.id))
    for part in _passed_on(node):
        yield from _cuts_at_zero(part, values, seen)


def _passed_on(node):
    """Parts of an expression whose value, or the sum of whose entries, it is made of."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return [node.left, node.right]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [node.left]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [one for one in (node.left, node.right) if not isinstance(one, ast.Name)]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Tuple):
        return node.elts
    if _called(node) in ("float", "abs", "max", "min", "maximum", "minimum", "sum", "mean"):
        method = isinstance(node.func, ast.Attribute) and not node.args
        return [node.func.value] if method else node.args
    return []


def private_sklearn_imports(source):
    """Return underscored and experimental names of scikit-learn that a source imports.

    Only the files of `PRIVATE_SKLEARN` may, so that a new release of scikit-learn breaks nothing
    else.
    """
    return [
        f"line {line}: {module} {name or ''}"
        for module, name, line, _ in imported_names(source)
        if module
        and module.split(".")[0] == "sklearn"
        and (
            any(part.startswith("_") for part in [*module.split("."), name or ""])
            or module.startswith("sklearn.callback")
        )
    ]


def eager_heavy_imports(source):
    """cvxpy, numba and matplotlib are imported inside the function that needs them."""
    return [
        f"line {line}: {module}"
        for module, _, line, inside in imported_names(source)
        if module and module.split(".")[0] in LAZY_MODULES and not inside
    ]


def dropped_comparisons(source):
    """No comparison stands alone as a statement: it would be computed and forgotten."""
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.Expr):
            value = node.value
            name = ""
            if isinstance(value, ast.Call):
                function = value.func
                name = getattr(function, "attr", getattr(function, "id", ""))
            if name in COMPARISONS or isinstance(value, ast.Compare):
                found.append(f"line {node.lineno}: comparison without assert")
    return found


def prints(source):
    """The package does not print."""
    return [
        f"line {node.lineno}: print"
        for node in nodes_of(source)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    ]


def figures_of_other_blocks(source):
    """A figure is drawn in the block of the example that makes it: the gallery shows it there."""
    edges = [n for n, line in enumerate(source.splitlines(), 1) if line.startswith("# %%")]
    made = {}
    broken = []

    for node in tree_of(source).body:
        block = sum(edge < node.lineno for edge in edges)
        inside = list(ast.walk(node))
        for name in inside:
            known = isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load)
            if known and made.get(name.id, block) != block:
                broken.append(f"line {name.lineno}: {name.id} belongs to an earlier block")

        for call in inside:
            if isinstance(call, ast.Assign) and isinstance(call.value, ast.Call):
                if getattr(call.value.func, "attr", "") in (
                    "subplots",
                    "figure",
                    "subfigures",
                ):
                    targets = [n for t in call.targets for n in ast.walk(t)]
                    made.update({n.id: block for n in targets if isinstance(n, ast.Name)})

    return broken


MOST_LINES = 59  # Maximum number of lines in the body of a function.
# Maximum number of lines of pursuit loops; in these loops, calls would take a tenth to a third of
# the time if codes are short.
WHOLE_LOOPS = {"_omp": 125, "homotopy": 115}
MOST_ARGUMENTS = 12
MOST_IN_FILE = 600


def oversized(source, *, solver=True):
    """Functions fit on a page, and in solvers take a dozen arguments; files end somewhere, too.

    Blank lines, comments and docstrings do not count.
    """
    found = []
    tree = tree_of(source)
    in_file = code_lines(source, tree)
    if in_file > MOST_IN_FILE:
        found.append(f"{in_file} lines in a file, at most {MOST_IN_FILE}")

    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        count = len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
        body = source.splitlines()[node.body[0].lineno - 1 : node.end_lineno]
        lines = sum(bool(line.strip()) and not line.strip().startswith("#") for line in body)
        lines -= sum(map(bool, (ast.get_docstring(node) or "").splitlines()))
        if lines > WHOLE_LOOPS.get(node.name, MOST_LINES):
            found.append(f"line {node.lineno}: {node.name} has {lines} lines")
        if solver and count > MOST_ARGUMENTS:
            found.append(f"line {node.lineno}: {node.name} takes {count} arguments")
    return found


def code_lines(source, tree):
    """Count the lines that are neither blank nor of comments or docstrings."""
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef
    documented = [n for n in ast.walk(tree) if isinstance(n, kinds) and ast.get_docstring(n)]
    docs = {i for n in documented for i in range(n.body[0].lineno, n.body[0].end_lineno + 1)}
    lines = enumerate(map(str.strip, source.splitlines()), 1)
    return sum(bool(line) and not line.startswith("#") and i not in docs for i, line in lines)


def fast_math(source):
    """Compiled loops keep IEEE arithmetic, and do not fork threads of their own."""
    return [
        f"line {node.value.lineno}: {node.arg}"
        for node in nodes_of(source)
        if isinstance(node, ast.keyword) and node.arg in ("fastmath", "parallel")
    ]


# Name of each field of a result, with synonyms that are not used.
SYNONYMS = {
    "objective": {"value", "objective_value", "fun"},
    "gap": {"dual_gap", "duality_gap", "relative_gap"},
    "n_iter": {"n_passes", "n_steps", "steps", "iterations", "n_iterations"},
    "converged": {"done", "finished", "success", "has_converged"},
}
# Named tuples that methods return to users; their fields are named like attributes.
PUBLIC_RESULTS = {"Encoding", "RecoveredSignals"}


def other_words_for_results(source):
    """Named tuples with two fields of `SYNONYMS`, or more, call them by the same names.

    A word may stand beside the name that it could replace: `n_passes` beside `n_iter` counts
    something else.
    """
    found = []
    of_word = {word: name for name, words in SYNONYMS.items() for word in words}
    for node in nodes_of(source):
        if not isinstance(node, ast.ClassDef) or node.name in PUBLIC_RESULTS:
            continue
        if "NamedTuple" not in map(ast.unparse, node.bases):
            continue
        fields = [part.target.id for part in node.body if isinstance(part, ast.AnnAssign)]
        if len({of_word.get(name, name) for name in fields} & SYNONYMS.keys()) > 1:
            found += [
                f"{node.name}: {name} instead of {of_word[name]}"
                for name in fields
                if name in of_word and of_word[name] not in fields
            ]
    return found


def switched_off_tests(source):
    """No test is skipped or excused from inside."""
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.Attribute) and node.attr in ("skip", "xfail", "skipif"):
            owner = ast.unparse(node.value)
            if owner in ("pytest", "pytest.mark"):
                found.append(f"line {node.lineno}: {owner}.{node.attr}")
    return found


def evidence_kinds(source):
    """Return the kinds of evidence, by `pytest.mark`, that a test file carries by default.

    Tests marked `full` or `slow` do not count: the default tier leaves them out.
    """
    return {
        mark
        for node in tree_of(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for mark in marks_of(node)
        if not {"full", "slow"} & marks_of(node)
    }.intersection(EVIDENCE)


def marks_of(node):
    """Return the names of pytest's marks among the decorators of a test."""
    marks = (getattr(decorator, "func", decorator) for decorator in node.decorator_list)
    return {
        mark.attr
        for mark in marks
        if isinstance(mark, ast.Attribute) and ast.unparse(mark.value) == "pytest.mark"
    }


def too_little_evidence(source):
    """A method's tests show at least three kinds of evidence, and what happens at the edge."""
    kinds = evidence_kinds(source)
    found = []
    if len(kinds - {"edge"}) < 3:
        found.append(f"only {sorted(kinds - {'edge'})}: at least three kinds are needed")
    if "edge" not in kinds:
        found.append("no edge test")
    return found


def documented_parameters(text):
    """Return name -> type line of the Parameters section."""
    doc = ClassDoc(None, doc=inspect.cleandoc(text)) if text else {"Parameters": []}
    names = {}
    for parameter in doc["Parameters"]:
        for name in parameter.name.split(","):
            names[name.strip()] = parameter.type
    return names


def public_functions():
    """Functions that the public modules export."""
    modules = [importlib.import_module(name) for name in public_modules()]
    values = (getattr(module, name) for module in modules for name in module.__all__)
    return [value for value in values if inspect.isfunction(value)]


def wrong_defaults(cls):
    """Documented defaults equal real ones, and every parameter is documented.

    `cls` may be a function, too.
    """
    documented = {}
    for parameter in FunctionDoc(cls, doc=inspect.getdoc(cls) or "")["Parameters"]:
        for name in parameter.name.split(","):
            documented[name.strip().lstrip("*")] = parameter.type

    real = {
        name: parameter.default
        for name, parameter in inspect.signature(cls).parameters.items()
        if name not in ("self", "args", "kwargs")
    }

    found = [f"{name}: not documented" for name in real if name not in documented]
    found += [
        f"{name}: documented but not a parameter" for name in documented if name not in real
    ]

    for name, default in real.items():
        text = re.search(r"default\s*[=:]\s*(.+)$", documented.get(name, ""))
        if name not in documented or default is inspect.Parameter.empty:
            continue
        if text is None:
            found.append(f"{name}: no `default=` in the docstring")
            continue

        shown = (
            text.group(1).strip().rstrip(".").strip("`").replace("pi / 2", repr(math.pi / 2))
        )
        try:
            same = ast.literal_eval(shown) == default and type(
                ast.literal_eval(shown)
            ) is type(default)
        except (ValueError, SyntaxError):
            same = shown in (repr(default), str(default))

        if not same:
            found.append(f"{name}: documented {shown}, real {default!r}")

    return found


SECTIONS = ("Parameters", "Attributes", "See Also", "Notes", "References", "Examples")


def missing_sections(cls):
    """numpydoc sections of a public class, References and Examples included.

    A kernel, or a transformer that is fitted from the start, has no attributes.
    """
    doc = FunctionDoc(cls, doc=inspect.getdoc(cls) or "")
    wanted = set(SECTIONS)
    if isinstance(cls._card, KernelCard) or "__sklearn_is_fitted__" in vars(cls):
        wanted.discard("Attributes")  # the class has nothing to learn
    if not inspect.signature(cls).parameters:
        wanted.discard("Parameters")
    return [f"no section {name}" for name in SECTIONS if name in wanted and not doc[name]]


def missing_twin(cls, twins):
    """Every kernel has a brute-force twin, which the contract test of the kernels needs."""
    if isinstance(cls._card, KernelCard) and cls.__name__ not in twins:
        return ["no twin: add it to TWINS of a module tests/oracles/*_twins.py"]
    return []


def undocumented_methods(cls):
    """Public methods written here have a docstring that explains their parameters."""
    found = []
    for name, value in vars(cls).items():
        if name.startswith("_") or not inspect.isfunction(value):
            continue
        text = inspect.getdoc(value)
        if not text:
            found.append(f"{name}: no docstring")
            continue
        shown = {
            part.strip()
            for parameter in FunctionDoc(value, doc=text)["Parameters"]
            for part in parameter.name.split(",")
        }
        wanted = set(inspect.signature(value).parameters) - {"self"}
        found += [f"{name}: parameter {missing} not documented" for missing in wanted - shown]
    return found


def broken_promises(cls, root=ROOT):
    """What the card promises is there: page, example, references, tests, changelog."""
    card = cls._card
    stem = method_stem(cls)
    module = cls.__module__.split(".")[1]
    found = []

    wanted = [root / "docs" / "methods" / f"{stem}.md", root / "examples" / f"plot_{stem}.py"]
    tests = root / "tests" / module / f"test_{stem}.py"
    wanted.append(tests)

    if card.tier not in ("core", "standard", "textbook"):
        found.append(f"no such tier: {card.tier}")
    if (card.tier == "core") == bool(card.instead):
        found.append("a core method has no `instead`, every other method has one")
    if card.tier == "textbook" and not card.instead.startswith("Use "):
        found.append("what to use instead of a textbook method begins with 'Use'")

    found += [f"missing {path.relative_to(root)}" for path in wanted if not path.exists()]

    if not card.cite:
        found.append("no references")
    if tests.exists():
        found += too_little_evidence(tests.read_text(encoding="utf-8"))

    bib = root / "docs" / "references.bib"
    entries = bib.read_text(encoding="utf-8") if bib.exists() else ""
    found += [
        f"references.bib does not define {key}"
        for key in card.cite
        if f"{{{key}," not in entries
    ]

    page = root / "docs" / "methods" / f"{stem}.md"
    if page.exists():
        text = page.read_text(encoding="utf-8")
        if cls.__name__ not in text:
            found.append(f"{page.name} does not name {cls.__name__}")
        if ">>>" not in text:
            found.append(f"{page.name} has no example that runs")

    return found


class Tables(NamedTuple):
    """Tables of tests and benchmarks, by the names of classes."""

    parameter_sets: Mapping
    known_failures: Mapping
    comparisons: Mapping
    no_comparison: Mapping


def broken_tables(tables, classes, root=ROOT):
    """Entries are of classes, sorted by name, and say what they have to."""
    found = []
    names = {cls.__name__ for cls in classes}
    for title, table in tables._asdict().items():
        found += [f"{title}: no class {name}" for name in table if name not in names]
        if list(table) != sorted(table):
            found.append(f"{title}: not sorted by name")

    for name, sets in tables.parameter_sets.items():
        if not sets or sets == ({},):
            found.append(f"{name}: no parameter set, or only the defaults")

    for name, failures in tables.known_failures.items():
        for check, reason in failures.items():
            if len(reason) < 20:
                found.append(f"{name}: {check} carries no reason")
            if len(reason.partition("In use: ")[2]) < 30:
                found.append(
                    f"{name}: {check} does not say what fails for a user: 'In use: ...'"
                )

    for name, comparison in tables.comparisons.items():
        path = root / "benchmarks" / "compare" / "problems" / f"{comparison.problem}.py"
        if not path.exists():
            found.append(f"{name}: missing {path.relative_to(root)}")
    for name, reason in tables.no_comparison.items():
        if name in tables.comparisons:
            found.append(f"{name}: a comparison, and a reason why there is none")
        if not reason.endswith("."):
            found.append(f"{name}: the reason why nothing compares is no sentence")
    return found


def bare_words(text):
    """Nothing in the project speaks of one machine or of how it was written."""
    places = re.findall(r"(?:[\"'` =(])(/(?:work|tmp|home|root|opt)/\S*)", text)
    return [f"machine path {place}" for place in places]
