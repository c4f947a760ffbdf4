"""Counting, stopping and reporting of passes."""

from skmoderndata._solvers.common.iterate import Iterations


class Recorder:
    def __init__(self, stop_at=None):
        self.stop_at = stop_at
        self.calls = []

    def begin(self):
        self.calls.append("begin")

    def end(self):
        self.calls.append("end")
        return self.calls.count("end") == self.stop_at


def test_stops_at_tolerance():
    it = Iterations(50, tol=0.1)
    for n in it:
        it.residual = 1 / n
    assert (it.n_iter, it.converged) == (10, True)


def test_stops_at_max_iter_without_convergence():
    it = Iterations(5, tol=0.0)
    for _ in it:
        it.residual = 1.0
    assert (it.n_iter, it.converged) == (5, False)


def test_progress_counts_every_pass_and_can_stop():
    seen = Recorder(stop_at=3)
    it = Iterations(10, tol=0.0, progress=seen)
    for _ in it:
        it.residual = 1.0
    assert seen.calls == ["begin", "end"] * 3
    assert (it.n_iter, it.converged) == (3, False)
