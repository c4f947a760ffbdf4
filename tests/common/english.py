"""How the project writes: constructions that read translated, counted in pages and docstrings.

A single use may be right; a rate per 10,000 words says whether a habit is back.
"""

import ast
import io
import re
import tokenize

CONSTRUCTIONS = (
    r"\bth(?:ose (?:of|in|with|from)|at of)\b",
    r"\bwhat (?:is|was|were|comes|came|are|has|have|had)\b",
    r"\b\w+, at (?:most|least)\b",
    r"\b(?:is|are) no (?!longer|more|less|one)\w+",
    r"\bt(?:ells?|old)\b",
    r"\bof which\b",
    r"\b\w+ at (?:most|least)[,.]",
    r"\bso (?:many|few)\b",
    r"\basked\b",
    r"\bgo(?:es)? on\b",
    r"\bbut for\b",
)
HEADLESS = re.compile(r"(?:of|that|which|whose|\w+ which|up to|to a|and a|by which) ", re.I)
DIRECTIVES = ("type:", "noqa", "fmt:", "pragma", "!", "%%", "---", "===")


def rate(texts):
    """Return the number of constructions per 10,000 words."""
    text = "\n".join(texts)
    count = sum(len(re.findall(pattern, text, re.IGNORECASE)) for pattern in CONSTRUCTIONS)
    return 1e4 * count / max(len(text.split()), 1)


def headless(comments):
    """Return the percentage of comments that begin in the middle of a sentence."""
    return 100 * sum(bool(HEADLESS.match(text)) for text in comments) / max(len(comments), 1)


def comments_of(source):
    """Return the comments of a source; those on successive lines are one."""
    comments = []
    last = None  # line number of the last comment on a line of its own
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        text = token.string.lstrip("#: ").strip()
        is_alone = token.line.strip().startswith("#")
        line = token.start[0]
        if is_alone and last == line - 1:
            comments[-1] += f" {text}"
        elif text and not text.startswith(DIRECTIVES):
            comments.append(text)
        last = line if is_alone and comments else None
    return comments


def docstrings_of(source):
    """Return the docstrings of a source, without examples and formulas."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    texts = [
        ast.get_docstring(node) or ""
        for node in ast.walk(ast.parse(source))
        if isinstance(node, kinds)
    ]
    left_out = r"(?m)^\s*(?:>>>|\.\.\.).*$|\.\. math::(?:\n\s+.*)*"
    return [re.sub(left_out, " ", text) for text in texts]


def prose_of(page):
    """Return the text of a Markdown page without code, tables, headings, formulas and links."""
    page = re.sub(r"(?ms)^```.*?^```", " ", page)
    page = re.sub(r"(?m)^[|#].*$", " ", page)
    return re.sub(r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)", " ", page)
