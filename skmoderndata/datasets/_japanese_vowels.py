"""Speakers of Japanese vowels: series of unequal lengths with twelve channels."""

import importlib.util
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

NAME = "JapaneseVowels"


def load_japanese_vowels(*, folder=None, subset="train", return_X_y=False):
    """Load nine speakers' utterances of two vowels.

    Each series has 7 to 29 points and 12 channels, the cepstrum coefficients of one utterance; 270
    series are for training and 370 for testing [1]_. The files of the UEA archive are read from
    `folder`, or from an installed aeon, without importing it. They are not part of this package,
    and nothing is downloaded.

    Parameters
    ----------
    folder : str or path, default=None
        Folder with `JapaneseVowels_TRAIN.ts` and `JapaneseVowels_TEST.ts`; None uses the files of
        an installed aeon.
    subset : {"train", "test"}, default="train"
        Set of series to load.
    return_X_y : bool, default=False
        Whether to return series and labels instead of a Bunch.

    Returns
    -------
    data : Bunch
        With `data`, a list of arrays of shape (length, 12), `target`, the speakers 1 to 9 of
        shape (n_samples,), and `DESCR`. With `return_X_y=True`, the first two.

    References
    ----------
    .. [1] Kudo, Toyama and Shimbo, Multidimensional curve classification using passing-through
       regions, Pattern Recognition Letters 20(11-13), 1999.

    Examples
    --------
    >>> from skmoderndata.datasets import load_japanese_vowels
    >>> X, y = load_japanese_vowels(return_X_y=True)  # doctest: +SKIP
    >>> len(X), X[0].shape  # doctest: +SKIP
    (270, (20, 12))
    """
    if subset not in ("train", "test"):
        raise ValueError(
            f'load_japanese_vowels: subset={subset!r}; it must be "train" or "test".'
        )
    where = "in an installed aeon" if folder is None else f"in {folder}"
    folder = _installed() if folder is None else Path(folder)
    name = f"{NAME}_{subset.upper()}.ts"
    if folder is None or not (folder / name).exists():
        raise FileNotFoundError(
            f"load_japanese_vowels: {name} is not {where}: run pip install aeon, or pass a folder "
            "with the files of the UEA archive."
        )

    # Each line contains an utterance: its channels, followed by the speaker
    X = []
    y = []
    inside = False
    text = (folder / name).read_text(encoding="utf-8", errors="replace")
    for line in text.splitlines():
        line = line.strip()
        if inside and line:
            *channels, label = line.split(":")
            series = [[float(value) for value in channel.split(",")] for channel in channels]
            X.append(np.array(series).T)
            y.append(int(label))
        inside = inside or line.lower() == "@data"
    y = np.array(y)

    if return_X_y:
        return X, y
    about = (
        f"{len(X)} utterances of two Japanese vowels by nine male speakers, as series of 12 "
        "cepstrum coefficients; UCI machine learning repository, UEA archive."
    )
    return Bunch(data=X, target=y, DESCR=about)


def _installed():
    """Return the folder of the files in an installed aeon, or None."""
    spec = importlib.util.find_spec("aeon")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    return package / "datasets" / "data" / NAME
