"""Classes whose samples all have weight 0: they keep their place in `classes_`, and never win."""

from typing import Any

import numpy as np

from skmoderndata._solvers.common.typing import Array


def refuse_one_class(owner: str, present: Any, *, weighted: bool = False) -> None:
    """Refuse fewer than two classes of positive weight.

    Parameters
    ----------
    owner : str
        Named in the message.
    present : array-like
        Labels of the classes that have samples of positive weight.
    weighted : bool, default=False
        Whether other samples have weight 0.
    """
    labels = np.asarray(present).tolist()
    if len(labels) < 2:
        found = "1 class" if labels else "none"
        where = " with positive weight" if weighted else ""
        raise ValueError(
            f"{owner} needs samples of at least two classes, got {found}{where}: {labels}."
        )


class AbsentClasses:
    """Mixin of classifiers that are fitted to the classes of positive weight alone.

    `fit` calls `_keep_classes`; what it learns then has the classes in `_present`. Methods for
    new samples call `_with_absent` or `_with_impossible` on what they have computed for these.
    """

    classes_: Any
    _present: Array | None = None  # positions in classes_, None for all

    def _keep_classes(self, classes: Any, present: Any, *, weighted: bool = True) -> None:
        """Set `classes_`; `present` says for each whether it has a sample of positive weight."""
        present = np.asarray(present, dtype=bool)
        refuse_one_class(type(self).__name__, np.asarray(classes)[present], weighted=weighted)
        self.classes_ = classes
        self._present = None if present.all() else np.flatnonzero(present)

    @property
    def _present_classes(self) -> Any:
        """Labels of the classes of positive weight."""
        return self.classes_ if self._present is None else self.classes_[self._present]

    def _with_absent(self, values: Array) -> Array:
        """Decision values of all classes: an absent one has less than any other by one."""
        if self._present is None:
            return values
        if values.ndim == 1:  # two classes share one function
            values = np.column_stack([-values, values])
        out = np.empty((len(values), len(self.classes_)), dtype=values.dtype)
        out[:] = values.min(axis=1, keepdims=True) - 1.0
        out[:, self._present] = values
        return out

    def _with_impossible(self, values: Array, value: float = 0.0) -> Array:
        """Probabilities of all classes: an absent one has `value`."""
        if self._present is None:
            return values
        out = np.full((len(values), len(self.classes_)), value, dtype=values.dtype)
        out[:, self._present] = values
        return out
