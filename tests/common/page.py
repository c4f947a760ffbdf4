"""Rules for how a page of code looks: each takes a source text and returns what breaks them.

Lines of code are counted without blank lines, comments and docstrings. A run is a series of lines
without a blank line or a comment of its own; docstrings do not belong to it.
"""

import ast
import io
import tokenize
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

LONGEST_RUN = 25
# Limits for a function; they are only ever lowered.
MOST_STATEMENTS = 60
MOST_BRANCHES = 28
MOST_NAMES = 34
NO_CODE = (
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.COMMENT,
)
BRANCHES = (
    ast.If,
    ast.For,
    ast.While,
    ast.IfExp,
    ast.ExceptHandler,
    ast.comprehension,
    ast.Assert,
)


class Lines(NamedTuple):
    """What stands on the lines of a file, by their numbers."""

    code: set[int]
    docstrings: set[int]
    comments: set[int]
    statements: set[int]  # last line of each statement
    tokens: Counter[int]  # number of tokens on each line


# Tokens at both ends of an f-string; before Python 3.12 it is a single token.
F_STRING = tuple(getattr(tokenize, name, None) for name in ("FSTRING_START", "FSTRING_END"))
# Number of parsed files that are kept in memory; the rules read one file after another.
KEPT = 8


@lru_cache(KEPT)
def tree_of(source):
    return ast.parse(source)


@lru_cache(KEPT)
def nodes_of(source):
    """Return all nodes of a file, in the order of `ast.walk`."""
    return tuple(ast.walk(tree_of(source)))


@lru_cache(KEPT)
def lines_of(source):
    """Read which lines have code, docstrings and comments, and how dense the code is."""
    lines = Lines(set(), set(), set(), set(), Counter())
    depth = 0  # number of f-strings that contain a token
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        first = token.start[0]
        if token.type == tokenize.COMMENT:
            lines.comments.add(first)
        elif token.type == tokenize.NEWLINE:
            lines.statements.add(first)
        elif token.type not in NO_CODE:
            lines.code.update(range(first, token.end[0] + 1))
            depth -= token.type == F_STRING[1]
            lines.tokens[first] += depth == 0 and token.type != F_STRING[1]
            depth += token.type == F_STRING[0]

    for node in nodes_of(source):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and _has_docstring(
            node
        ):
            lines.docstrings.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def _has_docstring(node):
    return bool(node.body) and ast.get_docstring(node, clean=False) is not None


def outer_functions(source):
    """Return the functions of a file that are not inside of another."""
    found = []
    nodes = [tree_of(source)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef):
            found.append(node)
        else:
            nodes.extend(ast.iter_child_nodes(node))
    return found


def body_lines(node, lines):
    """Return the line numbers of the body of a function, its docstring left out."""
    numbers = range(node.body[0].lineno, node.end_lineno + 1)
    return [number for number in numbers if number not in lines.docstrings]


def long_runs(source):
    """A reader finds a blank line or a comment at least every 25 lines."""
    lines = lines_of(source)
    texts = source.splitlines()
    broken = []
    for node in outer_functions(source):
        run = longest = 0
        for number in body_lines(node, lines):
            text = texts[number - 1].strip()
            run = run + 1 if text and not text.startswith("#") else 0
            longest = max(longest, run)
        if longest > LONGEST_RUN:
            broken.append(
                f"line {node.lineno}: {node.name} has {longest} lines in one paragraph"
            )
    return broken


def nested_choices(source):
    """A choice inside of a choice (`a if b else c if d else e`) is an if statement."""
    return [
        f"line {node.lineno}: a conditional expression inside of another"
        for node in nodes_of(source)
        if isinstance(node, ast.IfExp)
        and any(isinstance(n, ast.IfExp) for n in ast.walk(node) if n is not node)
    ]


def crowded_assignments(source):
    """One statement assigns one thing: calls and shapes may be taken apart, names swapped.

    So may values that need each other's old values, as in ``a, b = b, a + b``.
    """
    return [
        f"line {node.lineno}: {ast.unparse(node)[:60]} assigns things that do not need each other"
        for node in nodes_of(source)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
        and len(node.targets[0].elts) == len(node.value.elts)
        and not _reads_what_it_writes(node)
    ]


def _reads_what_it_writes(node):
    """Whether a value reads a name, or any part of an object, that the statement writes."""
    targets = node.targets[0].elts
    values = node.value.elts
    if any(isinstance(part, ast.Starred) for part in (*targets, *values)):
        return True
    written = {
        name.id
        for target in targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    }
    read = {
        name.id for value in values for name in ast.walk(value) if isinstance(name, ast.Name)
    }
    return bool(written & read)


def crowded_functions(source):
    """A function has few statements, branches and names: `MOST_STATEMENTS`, and so on."""
    broken = []
    for node in outer_functions(source):
        inside = list(ast.walk(node))
        statements = sum(isinstance(n, ast.stmt) for n in inside) - 1
        branches = 1 + sum(isinstance(n, BRANCHES) for n in inside)
        branches += sum(len(n.values) - 1 for n in inside if isinstance(n, ast.BoolOp))
        stored = [
            n for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        ]
        names = len({n.id for n in stored})

        counts = (statements, MOST_STATEMENTS), (branches, MOST_BRANCHES), (names, MOST_NAMES)
        if any(count > most for count, most in counts):
            broken.append(
                f"line {node.lineno}: {node.name} has {statements} statements, {branches} "
                f"branches, {names} names"
            )
    return broken


class Page(NamedTuple):
    """How the functions of many files look."""

    tokens_per_statement: float
    without_blank_line: float  # percentage of the functions that have at least 20 lines
    without_heading: float
    comments: float  # per 100 lines of code


def page_of(sources):
    """Measure paragraphs, headings and density over the functions of many files."""
    long = bare = headless = comments = code = statements = tokens = 0
    for source in sources:
        lines = lines_of(source)
        texts = source.splitlines()
        for node in outer_functions(source):
            body = body_lines(node, lines)
            own = [number for number in body if number in lines.code]
            code += len(own)
            comments += len(lines.comments.intersection(body))
            statements += len(lines.statements.intersection(own))
            tokens += sum(lines.tokens[number] for number in own)

            if len(own) >= 20:
                long += 1
                bare += all(texts[number - 1].strip() for number in body)
                headless += not any(
                    texts[number - 1].strip().startswith("#") for number in body
                )

    long = max(long, 1)
    return Page(
        tokens / max(statements, 1),
        100 * bare / long,
        100 * headless / long,
        100 * comments / max(code, 1),
    )
