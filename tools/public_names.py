"""List public names, parameters with their defaults, and fitted attributes, for a review.

python tools/public_names.py > names.txt

The same name in several classes stands in one line, so that different defaults are side by side;
the difference between the lists of two versions is what a release changes.
"""

import collections
import importlib
import inspect

from numpydoc.docscrape import ClassDoc

from skmoderndata import all_estimators, all_kernels
from skmoderndata._estimator.registry import public_modules

# Maximum number of classes that a line names.
NAMED = 4


def main():
    """Print four lists."""
    estimators, kernels = all_estimators(), all_kernels()
    for title, classes in (("estimators", estimators), ("kernels", kernels)):
        print(f"# Parameters of {title}")
        for name, defaults in sorted(parameters(classes).items()):
            print(name, "; ".join(f"{value}: {some(of)}" for value, of in defaults.items()))
    print("# Attributes")
    for name, classes in sorted(attributes(estimators).items()):
        print(name, some(classes))
    print("# Other names")
    for line in other_names({*estimators, *kernels}):
        print(line)


def parameters(classes):
    """Map each parameter to its defaults, and these to the classes; `*` marks positional ones."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for cls in classes:
        for name, parameter in inspect.signature(cls).parameters.items():
            mark = "*" if parameter.kind is parameter.POSITIONAL_OR_KEYWORD else ""
            default = parameter.default
            text = "required" if default is parameter.empty else repr(default)
            found[name][mark + text].append(cls.__name__)
    return found


def attributes(classes):
    """Map each documented attribute to the classes that have it."""
    found = collections.defaultdict(list)
    for cls in classes:
        for entry in ClassDoc(cls)["Attributes"]:
            for name in entry.name.split(","):
                found[name.strip()].append(cls.__name__)
    return found


def other_names(listed):
    """Yield functions, displays and other classes of the public modules, with signatures."""
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        for name in module.__all__:
            value = getattr(module, name)
            if value in listed or not callable(value):
                continue
            try:
                yield f"{module_name}.{name}{inspect.signature(value)}"
            except ValueError:  # an exception has no signature
                yield f"{module_name}.{name}"


def some(names):
    """Return a few names, or their number."""
    return ", ".join(names) if len(names) <= NAMED else f"{len(names)} classes"


if __name__ == "__main__":
    main()
