"""A process per case: a case that crashes or hangs does not end a long run."""

import os
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def run_each(names, command, *, timeout, done=lambda name: False, say=print):
    """Run `command(name)` for one name after the other; return the names that failed.

    A command that has not ended after `timeout` seconds is killed with the processes that it
    started. `done(name)` returns whether a name needs no run; `say` gets one line per name.
    """
    failed = []
    for number, name in enumerate(names, 1):
        head = f"[{number}/{len(names)}] {name}"
        if done(name):
            say(f"{head}: measured before")
            continue
        start = time.perf_counter()
        outcome = _run(command(name), timeout)
        if outcome:
            failed.append(name)
        say(f"{head}: {outcome or 'done'}, {time.perf_counter() - start:.0f} s")
    return failed


def _run(command, timeout):
    """Return "" after success, else the reason of the failure."""
    environment = {**ONE_THREAD, **os.environ}  # the caller may request more threads
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        return f"stopped after {timeout:.0f} s"
    except KeyboardInterrupt:
        _kill(process)
        raise
    return f"failed with status {status}" if status else ""


def _kill(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
