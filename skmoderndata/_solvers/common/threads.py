"""One thread for BLAS where matrices are too small to share."""

import functools
from contextlib import AbstractContextManager
from typing import Any


def one_blas_thread() -> AbstractContextManager[Any]:
    """Context in which BLAS takes one thread: small products on two threads stall busy cores."""
    limited: AbstractContextManager[Any] = blas_controller().limit(limits=1, user_api="blas")
    return limited


@functools.cache
def blas_controller() -> Any:
    """Return threadpoolctl's view of the loaded BLAS libraries, looked up once."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
