"""Images restored by dictionaries of their patches."""

from skmoderndata.image._dictionary_restoration import DictionaryDenoiser, DictionaryInpainter

__all__ = ["DictionaryDenoiser", "DictionaryInpainter"]
