"""Samples with the converted form that a kernel computes with."""

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from skmoderndata._solvers.common.typing import Array


class Encoded:
    """Samples that were converted once; `BaseKernel.encode` returns them.

    It is a sequence of the original samples: `len`, iteration and integer indices refer to the
    samples, whereas slices, integer arrays and Boolean arrays return another `Encoded` without a
    new conversion. Kernels accept it in place of samples. A kernel with another encoding converts
    the samples again.

    Parameters
    ----------
    samples : list
        The samples as the user gave them.
    form : object
        Converted samples, indexed like the samples; None if the kernel converts at each call.
    key : hashable or None
        Name of the encoding.
    """

    def __init__(self, samples: list[Any], form: Any, key: Hashable | None) -> None:
        self.samples = samples
        self.form = form
        self.key = key
        # diagonals of the samples, by kernel; `BaseKernel.diag` adds entries
        self.diagonals: dict[Hashable, Array] = {}

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
        positions = np.arange(len(self.samples))[indices]
        form = None if self.form is None else self.form[positions]
        samples = [self.samples[i] for i in positions]
        subset = Encoded(samples, form, self.key)
        subset.diagonals = {kernel: d[positions] for kernel, d in self.diagonals.items()}
        return subset

    def copy(self) -> "Encoded":
        """Return the same samples in a new sequence."""
        return self[:]

    def __repr__(self) -> str:
        return f"Encoded(<{len(self)} samples, {self.key}>)"
