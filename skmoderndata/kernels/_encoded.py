"""Samples with the form in which a kernel computes with them, made once."""

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


class Encoded:
    """Samples that were converted once; `BaseKernel.encode` makes it.

    A sequence of the original samples: `len`, iteration and integers give these, while slices,
    integer and Boolean arrays give an `Encoded` again, without another conversion. Kernels take it
    wherever they take samples. A kernel of another encoding converts the samples afresh.

    Parameters
    ----------
    samples : list
        The samples as the user gave them.
    form : object
        What the kernel computes with, indexed like the samples; None if it converts at each call.
    key : str or None
        Name of the encoding.
    """

    def __init__(self, samples: list[Any], form: Any, key: str | None) -> None:
        self.samples, self.form, self.key = samples, form, key
        self.diagonals: dict[str, Array] = {}  # by kernel, filled by `BaseKernel.diag`

    @property
    def shape(self) -> tuple[int]:
        """Number of samples, as the shape of a 1-D array."""
        return (len(self.samples),)

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.samples)

    def __getitem__(self, indices: Any) -> Any:
        if isinstance(indices, int | np.integer):
            return self.samples[indices]
        chosen = np.arange(len(self.samples))[indices]
        form = None if self.form is None else self.form[chosen]
        part = Encoded([self.samples[i] for i in chosen], form, self.key)
        part.diagonals = {kernel: d[chosen] for kernel, d in self.diagonals.items()}
        return part

    def copy(self) -> "Encoded":
        """Return the same samples in a sequence of its own."""
        part: Encoded = self[:]
        return part

    def __repr__(self) -> str:
        return f"Encoded(<{len(self)} samples, {self.key}>)"
