"""Pages of the API reference: a table of all, one page per public module and public object."""

import importlib
import inspect

from catalogue import summary

from skmoderndata._estimator.registry import method_stem, public_modules

from . import examples

TOP_LEVEL = (
    "all_estimators",
    "all_kernels",
    "blocks_config",
    "report",
    "suggest",
    "trusted_types",
)


def render(docs):
    """File name below `generated` -> text, for every page of the reference."""
    pages = {}
    toctree = []
    modules = {"skmoderndata": TOP_LEVEL}
    for module_name in public_modules():
        names = getattr(importlib.import_module(module_name), "__all__", ())
        if names:
            modules[module_name] = names
    for module_name, names in modules.items():
        module = importlib.import_module(module_name)
        # The list of sections has no room for the full names of modules
        short = module_name.removeprefix("skmoderndata.")
        toctree.append(f"{short} </generated/api/{module_name}>")
        pages[f"api/{module_name}.rst"] = _module_page(module, names)
        for name in names:
            page = _object_page(module_name, name, getattr(module, name), docs)
            pages[f"api/{module_name}.{name}.rst"] = page
    hidden = ["```{toctree}", ":hidden:", ":maxdepth: 2", "", *toctree, "```", ""]
    pages["api.md"] = "\n".join([*_table(modules), "", *hidden])
    return pages


def _table(modules):
    """Markdown: estimators with what they take, kernels, and all other names."""
    parts = {part: [] for part in PARTS}
    for module_name, names in modules.items():
        module = importlib.import_module(module_name)
        short = module_name.removeprefix("skmoderndata.")
        home = f"{{doc}}`{short} </generated/api/{module_name}>`"
        for name in names:
            value = getattr(module, name)
            cells = [f"{{obj}}`{name} <{module_name}.{name}>`", summary(value)]
            part = _part(value)
            if part in OF_ESTIMATORS:  # no room for the module, which the link shows
                cells += [CHECK if takes else "" for takes in abilities(value)]
            else:
                cells.append(home)
            parts[part].append((name.lower(), f"| {' | '.join(cells)} |"))

    out = [*LEGEND, ""]
    for part, rows in parts.items():
        more = ABILITIES if part in OF_ESTIMATORS else ("module",)
        columns = ["name", "what it is", *more]
        out += [f"## {part}", "", "::::{container} reference", ""]
        out += [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
        out += [*(row for _, row in sorted(rows)), "", "::::", ""]
    return out


OF_ESTIMATORS = ("Estimators", "Textbook estimators")
PARTS = (
    "Estimators",
    "Kernels",
    "Functions and displays",
    "Textbook estimators",
    "Textbook kernels",
)
CHECK = "\N{CHECK MARK}"
ABILITIES = ("NaN", "sparse", "streams", "weights", "blocks", "guarantee")
LEGEND = (
    "The columns show whether an estimator accepts missing entries (NaN), sparse tables, chunks "
    "by `partial_fit`, and `sample_weight`; whether you can fit it to Dask arrays; and whether an "
    "attribute certifies the optimum, by a duality gap or the residual of an optimality "
    "condition.",
)
CERTIFICATES = (
    "dual_gap_",
    "largest_dual_gap_",
    "kkt_residual_",
    "bound_gap_",
    "dictionary_gap_",
    "log_likelihood_gap_",
)


def _part(value):
    if not hasattr(value, "_card") and not hasattr(value, "fit"):
        return "Functions and displays"
    kind = "estimators" if hasattr(value, "fit") else "kernels"
    card = getattr(value, "_card", None)  # a search has none
    textbook = card is not None and card.tier == "textbook"
    return f"Textbook {kind}" if textbook else kind.capitalize()


def abilities(cls):
    """Whether an estimator class has each of `ABILITIES`, from its tags, methods and docstring."""
    card = getattr(cls, "_card", None)
    if card is None:  # a search has the abilities of its estimator
        return (False,) * len(ABILITIES)
    tags = cls().__sklearn_tags__()
    attributes = inspect.getdoc(cls) or ""
    return (
        tags.input_tags.allow_nan,
        tags.input_tags.sparse,
        hasattr(cls, "partial_fit"),
        "sample_weight" in inspect.signature(cls.fit).parameters,
        card.fits_blocks,
        any(f"\n{name} :" in attributes for name in CERTIFICATES),
    )


def _module_page(module, names):
    name = module.__name__
    lines = [
        _title(f"``{name}``", len(name) + 4),
        "",
        summary(module),
        "",
        ".. list-table::",
        "",
    ]
    for entry in sorted(names):
        lines += [
            f"   * - :obj:`{entry} <{name}.{entry}>`",
            f"     - {summary(getattr(module, entry))}",
        ]
    lines += ["", ".. toctree::", "   :hidden:", ""]
    lines += [f"   {entry} <{name}.{entry}>" for entry in sorted(names)]
    return "\n".join([*lines, ""])


def _object_page(module_name, name, value, docs):
    lines = [_title(name, len(name)), "", f".. currentmodule:: {module_name}", ""]
    shown = _examples(module_name, name, docs)

    if inspect.ismodule(value):  # a collection of functions under one public name
        members = [f".. automodule:: {value.__name__}", "   :members:", ""]
        return "\n".join([*lines, f".. module:: {module_name}.{name}", "", *members, *shown])
    if not inspect.isclass(value):
        return "\n".join([*lines, f".. autofunction:: {name}", "", *shown])

    if hasattr(value, "_card") and (docs / "methods" / f"{method_stem(value)}.md").exists():
        lines += [f"User guide: :doc:`/methods/{method_stem(value)}`", ""]
    ours, theirs = _methods(value)
    lines += [f".. autoclass:: {name}", ""]

    for method in ours:
        is_property = isinstance(inspect.getattr_static(value, method), property)
        lines += [f".. auto{'property' if is_property else 'method'}:: {name}.{method}", ""]

    if theirs:
        links = ", ".join(f"``{method}``" for method in theirs)
        lines += [
            ".. rubric:: From scikit-learn",
            "",
            f"These methods have their usual meaning: {links}.",
            "",
        ]

    return "\n".join([*lines, *shown])


def _examples(module_name, name, docs):
    paths = examples.using(module_name, name, docs.parent / "examples")
    return [".. rubric:: Examples of use", "", *examples.thumbnails(paths)] if paths else []


def _methods(cls):
    """Public methods of a class: those written here, those that scikit-learn supplies."""
    ours = []
    theirs = []
    for name, value in inspect.getmembers(cls):
        if name.startswith("_") or not (callable(value) or isinstance(value, property)):
            continue
        if isinstance(value, property) and name.endswith("_"):
            continue  # a fitted attribute: the docstring of the class has it
        function = inspect.unwrap(value.fget if isinstance(value, property) else value)
        module = getattr(function, "__module__", "") or ""
        (ours if module.startswith("skmoderndata") else theirs).append(name)
    order = ["fit", "partial_fit", "fit_transform", "fit_predict", "transform", "predict"]
    ours.sort(key=lambda name: (order.index(name) if name in order else len(order), name))
    return ours, theirs


def _title(text, width):
    return f"{text}\n{'=' * width}"
