"""Base class of the kernels on sequences."""

from typing import Any

from skmoderndata._samples.sequences import Packed, pack
from skmoderndata.kernels._base import BaseKernel


class SequenceKernel(BaseKernel):
    """A kernel on sequences: `_gram` and `_diag` accept `Packed` collections."""

    @property
    def encoding(self) -> str | None:
        """Name of the form that `encode` stores, common to all kernels on sequences."""
        return "sequences"

    def _check(self, X: Any) -> Packed:
        return pack(X, type(self).__name__)
