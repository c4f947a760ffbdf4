"""Choose the names of `skmoderndata.datasets.load_language_names` from the CLDR data in Babel.

Run ``python tools/language_names.py`` to write `skmoderndata/datasets/data/language_names.csv`.
"""

from collections import Counter
from pathlib import Path

import numpy as np
from babel import Locale

LANGUAGES = "cs da de en es et fi fr hu it lt nl pl pt sv tr".split()
PER_LANGUAGE = 100
TARGET = (
    Path(__file__).parents[1] / "skmoderndata" / "datasets" / "data" / "language_names.csv"
)


def names_of(code):
    """Return names of languages and territories in lower case, with at least six letters."""
    locale = Locale(code)
    names = {
        name.lower() for name in [*locale.languages.values(), *locale.territories.values()]
    }
    return {name for name in names if len(name) >= 6 and name.isalpha()}


def main():
    names = {code: names_of(code) for code in LANGUAGES}
    seen = Counter(name for group in names.values() for name in group)
    lines = ["name,language"]
    for code in LANGUAGES:
        unique = sorted(name for name in names[code] if seen[name] == 1)
        positions = np.linspace(0, len(unique) - 1, PER_LANGUAGE).round().astype(int)
        print(code, len(unique), "names occur in no other language")
        lines += [f"{unique[i]},{code}" for i in positions]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
