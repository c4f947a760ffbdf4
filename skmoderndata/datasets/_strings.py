"""Bundled samples that are strings: peptides, and names in many languages."""

from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from skmoderndata._estimator.compat import validate_params

DATA = Path(__file__).parent / "data"

PEPTIDES = """\
Peptides: antimicrobial against transmembrane
----------------------------------------------

412 sequences of 8 to 56 amino acids in one-letter code, 206 of each kind: antimicrobial peptides
that are active against gram-positive and gram-negative bacteria and fungi, from the databases APD2
and CAMP, and transmembrane regions of proteins. The set comes with modlAMP 4.3.3, Copyright (c)
2016 - 2025 ETH Zurich, Switzerland; Alex Mueller, Gisela Gabernet, Gisbert Schneider (BSD
3-Clause; the notice is in the file peptides_license.txt beside the data).

Schneider, Mueller, Gabernet, Button, Posselt, Wessler, Hiss and Schneider, Hybrid network model
for "deep learning" of chemical data: application to antimicrobial peptides, Molecular Informatics
36, 2017. Mueller, Gabernet, Hiss and Schneider, modlAMP: Python for antimicrobial peptides,
Bioinformatics 33(17), 2017, pp. 2753-2755.
"""

LANGUAGE_NAMES = """\
Names of languages and territories in sixteen languages
-------------------------------------------------------

1600 names in lower case, 100 for each of sixteen languages in Latin script. Each name has at least
six letters and occurs in only one of the languages. They were chosen at even distances in
alphabetical order from the Common Locale Data Repository as packaged in Babel 2.18.0, Copyright
(c) 2004-2025 Unicode, Inc. (Unicode License V3; the notice is in the file
language_names_license.txt beside the data).
"""


@validate_params({"return_X_y": ["boolean"]}, prefer_skip_nested_validation=True)
def load_peptides(*, return_X_y=False):
    """Load sequences of amino acids: antimicrobial peptides and transmembrane regions.

    The task is to classify strings whose classes differ in short motifs and in composition. A
    single threshold on the length reaches an accuracy of .74.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return the strings and the labels instead of a `Bunch`.

    Returns
    -------
    data : Bunch
        With `data`, a list of 412 strings; `target`, an array with 1 for antimicrobial peptides
        and 0 for transmembrane regions; `target_names`; and `DESCR`, the origin and the licence.
        With `return_X_y=True`, the pair of `data` and `target`.

    See Also
    --------
    load_language_names : Many classes, short strings, letters beyond ASCII.

    Examples
    --------
    >>> from skmoderndata.datasets import load_peptides
    >>> X, y = load_peptides(return_X_y=True)
    >>> X[0], len(X), y.mean()
    ('AAGAATVLLVIVLLAGSYLAVLA', 412, np.float64(0.5))
    """
    return _load("peptides", ["transmembrane", "antimicrobial"], PEPTIDES, return_X_y)


def load_blosum62():
    """Load BLOSUM62, the most widely used scores of pairs of amino acids.

    A score is the log-odds, in half-bits, that two amino acids are aligned in related proteins
    with at most 62 percent equal positions [1]_.

    Returns
    -------
    scores : dict
        Score of each pair of the twenty amino acids in one-letter code, of the ambiguous B, Z and
        X, and of the stop "*".

    See Also
    --------
    skmoderndata.metrics.alignment : Accepts them as `substitution_scores`.
    load_peptides : Sequences of amino acids.

    References
    ----------
    .. [1] Henikoff and Henikoff, Amino acid substitution matrices from protein blocks, Proceedings
       of the National Academy of Sciences 89(22), 1992.

    Examples
    --------
    >>> from skmoderndata.datasets import load_blosum62
    >>> scores = load_blosum62()
    >>> scores["W", "W"], scores["L", "I"], scores["L", "D"]
    (11, 2, -4)
    """
    lines = (DATA / "blosum62.txt").read_text(encoding="ascii").splitlines()
    letters = lines[0].split()
    # Each line contains a letter and its scores
    scores = {}
    for line in lines[1:]:
        row, *values = line.split()
        scores |= {(row, column): int(v) for column, v in zip(letters, values, strict=True)}
    return scores


@validate_params({"return_X_y": ["boolean"]}, prefer_skip_nested_validation=True)
def load_language_names(*, return_X_y=False):
    """Load names of languages and territories in sixteen languages.

    The task is to find the language of a name, a short string with letters beyond ASCII.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return the strings and the labels instead of a `Bunch`.

    Returns
    -------
    data : Bunch
        With `data`, a list of 1600 strings; `target`, the number of the language of each;
        `target_names`, the codes of the languages; and `DESCR`, the origin and the licence. With
        `return_X_y=True`, the pair of `data` and `target`.

    See Also
    --------
    load_peptides : Two classes, longer strings, twenty symbols.

    Examples
    --------
    >>> from skmoderndata.datasets import load_language_names
    >>> names = load_language_names()
    >>> names.data[220], str(names.target_names[names.target[220]])
    ('falklandinseln', 'de')
    """
    return _load("language_names", None, LANGUAGE_NAMES, return_X_y)


def _load(stem, names, description, return_X_y):
    """Read a file of strings and labels, with one pair per line after the header."""
    text = (DATA / f"{stem}.csv").read_text(encoding="utf-8")
    pairs = [line.split(",") for line in text.splitlines()[1:]]
    strings, labels = zip(*pairs, strict=True)
    if names is None:
        names = np.unique(labels)
    names = np.array(names)
    numbers = {name: i for i, name in enumerate(names.tolist())}
    X = list(strings)
    y = np.array([numbers[label] for label in labels])
    if return_X_y:
        return X, y
    return Bunch(data=X, target=y, target_names=names, DESCR=description)
