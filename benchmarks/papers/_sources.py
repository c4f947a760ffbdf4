"""Data of publications that are not shipped here, in folders named by environment variables."""

import os
from pathlib import Path


def folder(variable):
    """Return the folder that the environment variable names, or None."""
    return Path(os.environ[variable]) if variable in os.environ else None


def read_r(path):
    """Read a file of R, with data frames as dictionaries of columns."""
    import warnings

    import rdata
    from rdata.conversion import DEFAULT_CLASS_MAP

    # data frames may have matrices as columns, which pandas does not accept
    unchanged = {name: lambda value, attributes: value for name in ("data.frame", "AsIs")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rdata.read_rda(path, constructor_dict={**DEFAULT_CLASS_MAP, **unchanged})
