"""Processor time of a call, which does not depend on what else the machine does."""

import time

from threadpoolctl import threadpool_limits


def processor_time(call):
    """Seconds of processor time that a call takes, with one BLAS thread."""
    with threadpool_limits(1):
        start = time.process_time()
        call()
        return time.process_time() - start
