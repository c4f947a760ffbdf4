"""Names printed in many fonts: the ink of each column of pixels is a series."""

from functools import lru_cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from skmoderndata.datasets import load_language_names

# Fonts that come with matplotlib and have all letters.
FONTS = (
    *(f"DejaVu{kind}" for kind in ("Sans", "SansMono", "Serif")),
    *(f"DejaVu{kind}-Bold" for kind in ("Sans", "SansMono", "Serif")),
    *(f"DejaVu{kind}-Oblique" for kind in ("Sans", "SansMono")),
    *(f"DejaVu{kind}-BoldOblique" for kind in ("Sans", "SansMono")),
    "DejaVuSerif-Italic",
    "DejaVuSerif-BoldItalic",
    *(f"STIXGeneral{kind}" for kind in ("", "Bol", "Italic", "BolIta")),
    *(f"cm{kind}10" for kind in ("b", "r", "ss", "ti", "tt")),
)


@lru_cache
def names(shortest=6, longest=9):
    """Names of languages and territories in plain letters."""
    found = {
        name
        for name in load_language_names().data
        if name.isascii() and name.isalpha() and shortest <= len(name) <= longest
    }
    return sorted(found)


@lru_cache
def face(font, size):
    """A font of matplotlib."""
    path = Path(mpl.get_data_path()) / "fonts" / "ttf" / f"{font}.ttf"
    return ImageFont.truetype(str(path), size)


def profile(name, font, size=20):
    """Ink of each column of pixels, in deviations from its mean."""
    left, top, right, bottom = face(font, size).getbbox(name)
    image = Image.new("L", (right - left, bottom - top))
    ImageDraw.Draw(image).text((-left, -top), name, fill=255, font=face(font, size))
    ink = np.asarray(image, dtype=float).sum(axis=0)
    return (ink - ink.mean()) / ink.std()
