"""Classes whose samples all have weight 0: they stay in `classes_`, but are never predicted."""

from typing import Any

import numpy as np

from skmoderndata._solvers.common.typing import Array


def refuse_one_class(owner: str, present: Any, *, weighted: bool = False) -> None:
    """Raise ValueError if fewer than two classes have positive weight.

    Parameters
    ----------
    owner : str
        Name of the class of the estimator.
    present : array-like
        Labels of the classes with samples of positive weight.
    weighted : bool, default=False
        Whether there are samples of weight 0.
    """
    labels = np.asarray(present).tolist()
    if len(labels) < 2:
        found = "1 class" if labels else "none"
        where = " with positive weight" if weighted else ""
        raise ValueError(
            f"{owner} needs samples of at least two classes, got {found}{where}: {labels}."
        )


class AbsentClasses:
    """Mixin of classifiers that are fitted only to the classes of positive weight.

    `fit` calls `_keep_classes`, and learns the classes in `_present`. Methods for new samples
    extend values of these classes to all classes by `_with_absent` or `_with_impossible`.
    """

    classes_: Any
    # indices of the classes in classes_; None means all
    _present: Array | None = None

    def _keep_classes(self, classes: Any, present: Any, *, weighted: bool = True) -> None:
        """Set `classes_`; `present` marks the classes with a sample of positive weight."""
        present = np.asarray(present, dtype=bool)
        refuse_one_class(type(self).__name__, np.asarray(classes)[present], weighted=weighted)
        self.classes_ = classes
        self._present = None if present.all() else np.flatnonzero(present)

    @property
    def _present_classes(self) -> Any:
        """Labels of the classes with positive weight."""
        return self.classes_ if self._present is None else self.classes_[self._present]

    def _with_absent(self, values: Array) -> Array:
        """Return decision values of all classes; for absent classes 1 less than the smallest."""
        if self._present is None:
            return values
        if values.ndim == 1:  # two classes share a single function
            values = np.column_stack([-values, values])
        out = np.empty((len(values), len(self.classes_)), dtype=values.dtype)
        out[:] = values.min(axis=1, keepdims=True) - 1.0
        out[:, self._present] = values
        return out

    def _with_impossible(self, values: Array, value: float = 0.0) -> Array:
        """Return probabilities of all classes, which are `value` for absent classes."""
        if self._present is None:
            return values
        out = np.full((len(values), len(self.classes_)), value, dtype=values.dtype)
        out[:, self._present] = values
        return out
