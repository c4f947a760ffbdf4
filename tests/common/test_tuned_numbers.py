"""The number of tuned numbers in the package may only fall."""

import ast
from pathlib import Path

from tests.common import page

ROOT = Path(__file__).resolve().parents[2] / "skmoderndata"
# Maximum number of tuned numbers per 1,000 code lines; it is only ever lowered.
MOST = {"_solvers": 23.2, ".": 14.3}
# Numbers that are not tuned.
PLAIN = {0, 1, 2, 3, 4, 8, 10, 100, 1000, 0.5, -1}


def is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def tuned_numbers(source):
    """Count numeric constants of the module, and numbers in functions other than plain ones.

    Defaults of arguments, indices and fields of settings tuples do not count.
    """
    tree = page.tree_of(source)
    count = 0
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        )
        is_constant = isinstance(targets[0], ast.Name) and targets[0].id.isupper()
        value = getattr(node, "value", None)
        if (
            is_constant
            and value is not None
            and not isinstance(value, ast.Dict | ast.Set | ast.List)
        ):
            count += any(map(is_number, ast.walk(value)))

    tuned = {}
    for function in page.nodes_of(source):
        if isinstance(function, ast.FunctionDef):
            arguments = [*function.args.defaults, *filter(None, function.args.kw_defaults)]
            slices = [n.slice for n in ast.walk(function) if isinstance(n, ast.Subscript)]
            exempt = {id(n) for part in arguments + slices for n in ast.walk(part)}
            for node in ast.walk(function):
                if is_number(node) and abs(node.value) not in PLAIN and id(node) not in exempt:
                    tuned[id(node)] = node
    return count + len(tuned)


def code_lines(source):
    """Return the number of lines with code, without docstrings."""
    lines = set(page.lines_of(source).code)
    for node in page.nodes_of(source):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def test_tuned_numbers_become_no_more():
    found = {}
    for path in ROOT.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        found[path] = (tuned_numbers(source), code_lines(source))
    for folder, most in MOST.items():
        inside = [found[path] for path in (ROOT / folder).rglob("*.py")]
        count, n_lines = map(sum, zip(*inside, strict=True))
        assert 1000 * count / n_lines <= most, folder


def test_constants_and_literals_count():
    source = "N = 5\n\n\ndef f(x, tol=1e-6):\n    return x[7] + 0.3 * min(x, 2)\n"
    assert tuned_numbers(source) == 2
