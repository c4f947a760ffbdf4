"""Links into the documentation of scikit-learn, numpy and scipy, without their inventories.

The addresses follow from the names, so that a build needs no network.
"""

from docutils import nodes

GENERATED = {
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{}.html",
    "numpy": "https://numpy.org/doc/stable/reference/generated/{}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{}.html",
}
GLOSSARY = "https://scikit-learn.org/stable/glossary.html#term-{}"


def setup(app):
    app.connect("missing-reference", _resolve)


def address(target):
    """Address of the page of `package.module.name`, None for other packages.

    >>> address("sklearn.decomposition.PCA")
    'https://scikit-learn.org/stable/modules/generated/sklearn.decomposition.PCA.html'
    >>> address("sklearn.decomposition.PCA.fit")[-60:]
    'sklearn.decomposition.PCA.html#sklearn.decomposition.PCA.fit'
    """
    package, *rest = target.split(".")
    if package not in GENERATED or not rest:
        return None
    if len(rest) > 1 and rest[-2][0].isupper():  # a method: on the page of its class
        return f"{GENERATED[package].format(target.rpartition('.')[0])}#{target}"
    return GENERATED[package].format(target)


def _resolve(app, env, node, contnode):
    if node.get("reftype") == "term":
        uri = GLOSSARY.format(node["reftarget"].strip().replace(" ", "-"))
    elif node.get("refdomain") == "py":
        uri = address(node["reftarget"])
    else:
        uri = None
    return (
        None if uri is None else nodes.reference("", "", contnode, internal=False, refuri=uri)
    )
