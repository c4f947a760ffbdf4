"""Peak memory of one contender, in a process of its own.

The figure is the increase: highest resident memory during the run, minus resident memory just
before it, after data and imports have been loaded.
"""

import json
import resource
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def peak_of(run):
    """Increase of resident memory, in bytes, while calling `run`."""
    before = _resident()
    if _reset_peak():
        result = run()
        peak = _status("VmHWM")
    else:
        highest = [before]
        done = threading.Event()
        watcher = threading.Thread(target=_watch, args=(highest, done), daemon=True)
        watcher.start()
        result = run()
        done.set()
        watcher.join()
        peak = max(highest[0], _resident())
    del result
    return max(0, peak - before)


def in_own_process(case_name, contender, size, quick, seed):
    """Increase of memory of one contender, in bytes; None if the process failed."""
    asked = json.dumps([case_name, contender, size, quick, seed])
    command = [sys.executable, "-m", "benchmarks.peers.memory", asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return int(done.stdout.split()[-1]) if done.returncode == 0 else None


def _status(field):
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _resident():
    return _status("VmRSS")


def _reset_peak():
    """Ask the kernel to reset the highest value; some sandboxes do not allow it."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return _status("VmHWM") < _resident() + 2**20


def _watch(highest, done):
    while not done.wait(0.002):
        highest[0] = max(highest[0], _resident())


def _main():
    import warnings

    import numpy as np

    from benchmarks.peers.discover import find_cases

    case_name, name, label, quick, seed = json.loads(sys.argv[1])
    case = find_cases()[case_name]
    contender = case.contenders[name]
    warnings.simplefilter("ignore")
    talk = sys.stdout
    sys.stdout = sys.stderr
    small = case.work(case.warmup, np.random.default_rng(seed))
    contender.run(small if contender.prepare is None else contender.prepare(small))
    data = case.work(
        (case.quick_sizes if quick else case.sizes)[label], np.random.default_rng(seed)
    )
    if contender.prepare is not None:
        data = contender.prepare(data)
    peak = peak_of(lambda: contender.run(data))
    print(peak, file=talk)


if __name__ == "__main__":
    _main()
