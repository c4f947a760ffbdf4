"""Parameters under a new name: the old name works for two minor releases, with a warning.

For functions, classes and fitted attributes, use `sklearn.utils.deprecated`.
"""

import functools
import warnings


def renamed_parameters(*, removed_in, **successors):
    """Decorate an estimator class: `old="new"` accepts the parameter `old` under its old name.

    Constructor, `set_params`, and with it searches, accept the old name; `get_params` and `clone`
    know only the new one. Models that earlier versions stored are loaded with the new name.
    """

    def decorate(cls):
        init = cls.__init__
        set_params = cls.set_params
        set_state = cls.__setstate__

        @functools.wraps(init)
        def init_renamed(self, *args, **parameters):
            init(self, *args, **_renamed(cls, parameters, successors, removed_in))

        @functools.wraps(set_params)
        def set_params_renamed(self, **parameters):
            return set_params(self, **_renamed(cls, parameters, successors, removed_in))

        @functools.wraps(set_state)
        def set_state_renamed(self, state):
            set_state(
                self, {successors.get(name, name): value for name, value in state.items()}
            )

        cls.__init__ = init_renamed
        cls.set_params = set_params_renamed
        cls.__setstate__ = set_state_renamed
        return cls

    return decorate


def _renamed(cls, parameters, successors, removed_in):
    """Return the parameters under their new names; warn about each old name."""
    for old in parameters.keys() & successors.keys():
        new = successors[old]
        if new in parameters:
            raise TypeError(f"{cls.__name__} got {new!r} and its old name {old!r}: pass one.")
        message = f"{cls.__name__}: {old!r} is now {new!r}; the old name will be removed in"
        warnings.warn(f"{message} version {removed_in}.", FutureWarning, stacklevel=3)
    return {successors.get(name, name): value for name, value in parameters.items()}
