"""Evidence that the runs of docs/scaling.md give the answers of one process."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks import scaling
from skmoderndata.decomposition import SlowFeatureAnalysis
from skmoderndata.neural_network import RBFNetworkRegressor


def test_chunks_of_a_memory_map_are_fit():
    found = scaling.run_stream(n=3000, chunk=700)
    assert found["relative difference from fit on all rows"] < 1e-8  # the data are in float32


def test_blocks_of_dask_tasks_are_fit():
    dask = pytest.importorskip("dask")
    X = scaling.series(3000, p=5)
    blocks = np.array_split(X, 7)
    whole = SlowFeatureAnalysis(n_components=3, degree=2).fit(X)
    y = np.sin(X[:, 0])
    centers = X[::300]
    ridge = RBFNetworkRegressor(centers=centers, alpha=1.0, random_state=0).fit(X, y)
    with dask.config.set(scheduler="threads"):
        merged = scaling.slow_features_of_blocks(blocks).compute()
        pairs = zip(blocks, np.array_split(y, 7), strict=True)
        added = scaling.ridge_of_blocks(pairs, centers)
    assert (merged.n_steps_, merged.n_sequences_) == (2999, 1)
    assert_allclose(merged.delta_values_, whole.delta_values_, rtol=1e-10)
    assert_allclose(added.predict(X), ridge.predict(X), rtol=1e-10, atol=1e-10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Dask leaves sockets and temporary folders behind
def test_runs_on_a_cluster():
    pytest.importorskip("distributed")
    found = scaling.run_search(rows=200)
    assert found["largest difference of a score from loky"] == 0
    found = scaling.run_merge(n=4000, n_blocks=5)
    assert (found["rows"], found["steps"]) == (4000, 3999)
    assert found["slow features, difference from fit"] < 1e-10
    assert found["kernel ridge, difference from fit"] < 1e-10


@pytest.mark.slow
def test_core_set_of_a_memory_map():
    found = scaling.run_core_set(n=5000)
    assert found["accuracy on new rows"] > 0.98


def test_page_has_a_block_for_each_run(tmp_path, monkeypatch):
    page = tmp_path / "scaling.md"
    page.write_text(scaling.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(scaling, "PAGE", page)
    for name in scaling.RUNS:
        lines = [
            f"$ python -m benchmarks.scaling {name}",
            *scaling.show({"rows": 7, "x": 0.5}),
        ]
        scaling.write(lines)
        assert "\n".join(lines) in page.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="no block for"):
        scaling.write(["$ python -m benchmarks.scaling nothing"])
