"""Ctrl-C ends long compiled loops: a real interrupt, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.common.long_loops import ROUTES

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 2.0  # Maximum number of seconds of processor time until an interrupt takes effect.

pytestmark = pytest.mark.skipif(os.name == "nt", reason="interrupts of POSIX")


class Process:
    """A process that interrupts itself, started when it is needed."""

    running = None

    def ask(self, name):
        if self.running is None or self.running.poll() is not None:
            command = [sys.executable, "-m", "tests.common.long_loops"]
            pipe = subprocess.PIPE
            self.running = subprocess.Popen(
                command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True
            )
        self.running.stdin.write(f"{name}\n")
        self.running.stdin.flush()
        answer = self.running.stdout.readline().strip()
        assert answer, f"the process ended: {self.running.communicate()[1]}"
        return answer

    def end(self):
        if self.running is not None:
            self.running.kill()
            self.running.communicate()


@pytest.fixture(scope="module")
def process():
    process = Process()
    yield process
    process.end()


@pytest.mark.few(4)
@pytest.mark.edge
@pytest.mark.parametrize("name", ROUTES)
def test_ctrl_c_stops_the_loop(name, process):
    answer = process.ask(name)
    assert answer != "None", "the call ended before the interrupt: a larger problem is needed"
    assert float(answer) <= LIMIT
