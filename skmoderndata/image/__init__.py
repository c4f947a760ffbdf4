"""Images restored by dictionaries of their patches."""

from skmoderndata.image._dictionary_denoiser import DictionaryDenoiser
from skmoderndata.image._dictionary_inpainter import DictionaryInpainter

__all__ = ["DictionaryDenoiser", "DictionaryInpainter"]
