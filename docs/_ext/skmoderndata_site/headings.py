"""No heading of a page is without content, and each page of a method shows an example.

What is missing is a warning, which ends a build by `make docs`.
"""

from docutils import nodes
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
# nodes that show nothing by themselves
UNSEEN = (nodes.comment, nodes.target, nodes.substitution_definition, nodes.system_message)


def setup(app):
    app.connect("doctree-read", _check)


def empty(document):
    """Titles of sections and rubrics that nothing follows."""
    found = []
    for heading in document.findall(
        lambda node: isinstance(node, (nodes.title, nodes.rubric))
    ):
        parent = heading.parent
        if isinstance(heading, nodes.title) and not isinstance(parent, nodes.section):
            continue
        rest = [node for node in parent[parent.index(heading) + 1 :] if not _is_unseen(node)]
        if not rest or (isinstance(heading, nodes.rubric) and isinstance(rest[0], ENDS)):
            found.append(heading.astext())
    return found


ENDS = (nodes.rubric, nodes.section)


def _is_unseen(node):
    return isinstance(node, UNSEEN) or node.tagname in ("index", "meta")


def shows_an_example(document):
    """Whether a page has a thumbnail of the gallery."""
    return any(
        "sphx-glr-thumbcontainer" in raw.astext() for raw in document.findall(nodes.raw)
    )


def _check(app, document):
    page = app.env.docname
    for title in empty(document):
        LOGGER.warning("the heading %r has no content", title, location=page)
    if page.startswith("methods/") and not shows_an_example(document):
        LOGGER.warning("the page of a method shows no example", location=page)
