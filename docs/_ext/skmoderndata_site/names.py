"""Names with a trailing underscore in docstrings are fitted attributes, not links."""

import re

QUOTED = re.compile(r"(``.*?``|`[^`]*`_?)")
ATTRIBUTE = re.compile(r"(?<![\w.`\\|])([A-Za-z]\w*_)(?=$|[\s,.;:)\]])")
HEAD = re.compile(r"^\w+(, \w+)* : ")  # "rank_ : int": numpydoc takes care of this name


def setup(app):
    app.connect("autodoc-process-docstring", _quote_lines, priority=400)  # before numpydoc


def quote(line):
    """Put fitted attributes into backticks.

    >>> quote("Capped at rank_, see `rank_` and [1]_.")
    'Capped at `rank_`, see `rank_` and [1]_.'
    >>> quote("names_ : ndarray of shape (n_features_in_,)")
    'names_ : ndarray of shape (`n_features_in_`,)'
    >>> quote(">>> rank_")
    '>>> rank_'
    """
    if line.lstrip().startswith((">>>", "...", "..")):
        return line
    head = HEAD.match(line)
    start = head.end() if head else 0
    parts = QUOTED.split(line[start:])
    parts[::2] = [ATTRIBUTE.sub(r"`\1`", part) for part in parts[::2]]
    return line[:start] + "".join(parts)


def _quote_lines(app, what, name, obj, options, lines):
    lines[:] = [quote(line) for line in lines]
