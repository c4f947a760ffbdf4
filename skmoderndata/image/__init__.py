"""Image restoration by dictionaries of patches."""

from skmoderndata.image._dictionary_denoiser import DictionaryDenoiser
from skmoderndata.image._dictionary_inpainter import DictionaryInpainter

__all__ = ["DictionaryDenoiser", "DictionaryInpainter"]
