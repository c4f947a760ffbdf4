"""BLAS takes one thread as long as anybody asks for it, and its own number again afterwards."""

import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn import config_context, get_config
from threadpoolctl import threadpool_limits

from skmoderndata._solvers.common import threads
from skmoderndata._solvers.common.threads import (
    blas_controller,
    in_threads,
    is_blas,
    one_blas_thread,
)
from tests.common.test_interrupts import Interrupt

pytestmark = pytest.mark.edge


def takes_threads(library):
    """Whether a library can have three threads: some are built with one."""
    before = library.num_threads
    threads.set_threads(library, 3)
    several = library.num_threads == 3
    threads.set_threads(library, before)
    return several


LIBRARIES = [
    one for one in blas_controller().lib_controllers if is_blas(one) and takes_threads(one)
]


def numbers():
    return [library.num_threads for library in LIBRARIES]


@pytest.fixture(autouse=True)
def three_threads():
    """BLAS with three threads, and no thread that owns the number."""
    before = numbers()
    for library in LIBRARIES:
        threads.set_threads(library, 3)
    assert set(numbers()) == {3}
    yield
    for library, number in zip(LIBRARIES, before, strict=True):
        threads.set_threads(library, number)


def interleaved(*steps):
    """Run functions one after the other, in two threads by turns."""
    turns = [threading.Semaphore(1), threading.Semaphore(0)]
    seen = []

    def run(mine, other, part):
        for step in part:
            assert turns[mine].acquire(timeout=20)
            seen.append(step())
            turns[other].release()

    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(run, i, 1 - i, steps[i::2]) for i in range(2)]
        for job in jobs:
            job.result(timeout=30)
    return seen


@pytest.mark.parametrize("first_out", ["first in", "last in"])
def test_two_threads_at_once(first_out):
    a = one_blas_thread()
    b = one_blas_thread()

    def leave(context):
        context.__exit__(None, None, None)
        return numbers()

    first, second = (a, b) if first_out == "first in" else (b, a)
    steps = [a.__enter__, b.__enter__, lambda: leave(first), lambda: leave(second)]
    if first_out == "last in":
        steps.insert(2, numbers)
    *_, between, after = interleaved(*steps)
    assert set(between) == {1}
    assert set(after) == set(numbers()) == {3}


def test_many_threads_with_exceptions():
    def work(number):
        rng = np.random.default_rng(number)
        for _ in range(50):
            try:
                with one_blas_thread():
                    assert set(numbers()) == {1}
                    if rng.random() < 0.5:
                        raise MemoryError
                    with one_blas_thread():
                        pass
                    assert set(numbers()) == {1}
            except MemoryError:
                pass

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(8)))
    assert set(numbers()) == {3}


class InterruptAnywhere(Interrupt):
    left_out = ()


def test_interrupts_at_every_line():
    def block():
        with one_blas_thread():
            pass

    with InterruptAnywhere() as counter:
        block()
    assert counter.count > 20
    for at in range(counter.count):
        with pytest.raises(KeyboardInterrupt), InterruptAnywhere(at):
            block()
        # Python does not handle signals between the end of a block and the release of its lock
        while threads._ONE_THREAD._lock._is_owned():
            threads._ONE_THREAD._lock.release()
        block()  # complete the exit that the interrupt has cut off
        assert set(numbers()) == {3}, at


def test_settings_of_other_threads_are_kept():
    with one_blas_thread():
        for library in LIBRARIES:
            threads.set_threads(library, 2)
    assert set(numbers()) == {2}


def test_limits_of_the_caller():
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert set(numbers()) == {1}
        assert set(numbers()) == {2}
    assert set(numbers()) == {3}


class PerThread:
    """A BLAS on OpenMP, which keeps a number for each thread."""

    user_api = "blas"
    threading_layer = "openmp"

    def __init__(self):
        self._of = {}

    @property
    def num_threads(self):
        return self._of.get(threading.get_ident(), 3)

    def set_num_threads(self, number):
        self._of[threading.get_ident()] = number


def test_numbers_of_each_thread(monkeypatch):
    class Controller:
        lib_controllers = (library := PerThread(),)

    monkeypatch.setattr(threads, "blas_controller", Controller)
    a = one_blas_thread()
    b = one_blas_thread()
    inner = one_blas_thread()

    def enter(*contexts):
        for context in contexts:
            context.__enter__()
        return Controller.library.num_threads

    def leave(context):
        context.__exit__(None, None, None)
        return Controller.library.num_threads

    seen = interleaved(
        *(lambda: enter(a, inner), lambda: enter(b)),
        *(lambda: leave(inner), lambda: Controller.library.num_threads),
        *(lambda: leave(a), lambda: leave(b)),
    )
    assert seen == [1, 1, 1, 1, 3, 3]


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_pieces_come_back_in_order(n_jobs):
    assert in_threads(lambda x: x**2, range(9), n_jobs) == [x**2 for x in range(9)]
    assert in_threads(lambda x: x**2, [], n_jobs) == []


def test_number_of_threads_matches_joblib():
    def thread(_):
        together.wait(5)
        return threading.get_ident()

    together = threading.Barrier(2)
    with joblib.parallel_config(n_jobs=2):
        assert len(set(in_threads(thread, range(2), None))) == 2


def test_pieces_inherit_settings_and_can_be_nested():
    def working_memory(_):
        return get_config()["working_memory"]

    with config_context(working_memory=7):
        inner = in_threads(lambda _: in_threads(working_memory, range(3), 2), range(3), 2)
    assert inner == 3 * [[7, 7, 7]]


def test_an_error_ends_all_pieces():
    begun = []

    def piece(x):
        begun.append(x)
        if x == 0:
            raise RuntimeError("the first")
        threading.Event().wait(0.01)

    with pytest.raises(RuntimeError, match="the first"):
        in_threads(piece, range(1000), 2)
    n = len(begun)
    threading.Event().wait(0.05)
    assert n == len(begun) < 100
