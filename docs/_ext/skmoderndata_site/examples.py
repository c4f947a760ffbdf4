"""Which examples show what, and the thumbnails of them on the pages of methods and classes."""

import ast
import functools


@functools.cache
def using(module, name, examples):
    """Examples that import a public name, from its module or from the top."""
    return [
        path
        for path, imported in _imports(examples).items()
        if {f"{module}.{name}", f"skmoderndata.{name}"} & imported
    ]


@functools.cache
def _imports(examples):
    """Example -> everything of the package that it imports, with its path."""
    found = {}
    for path in sorted(examples.glob("plot_*.py")):
        froms = [
            node
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("skmoderndata")
        ]
        found[path] = {f"{node.module}.{alias.name}" for node in froms for alias in node.names}
    return found


def thumbnails(paths):
    """ReStructuredText: a thumbnail for each example, in the order of their names.

    The examples are named by their files: what sphinx-gallery finds by the names of classes
    depends on where it has seen them.
    """
    return [".. minigallery::", "", *(f"   ../examples/{path.name}" for path in paths), ""]
