"""Every line that `skmoderndata.suggest` prints runs as pasted, on every kind of container."""

import ast
import warnings

import networkx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer

import skmoderndata
from skmoderndata._guide.suggest import accepts_of

pytestmark = pytest.mark.edge

dask_array = pytest.importorskip("dask.array")
dask_frame = pytest.importorskip("dask.dataframe")

N = 60
TABLE = load_breast_cancer(as_frame=True).data.iloc[:N, 8:20]
RNG = np.random.default_rng(0)
GAPPY = TABLE.mask(RNG.random(TABLE.shape) < 0.1)
SERIES = [np.cumsum(RNG.normal(size=(20 + i % 5, 2)), axis=0) for i in range(N)]
WORDS = ["abcabd", "bcaabc", "cabdda"] * (N // 3)
NAMES = [f"{a}{b} {c}ster" for a in "abcdefghij" for b in "klm" for c in "np"]
CONTAINERS = {
    "data frame": TABLE,
    "data frame with text": TABLE.assign(name="x", flag=np.arange(N) % 2 == 0),
    "data frame with gaps": GAPPY,
    "data frame with integers of pandas": (TABLE * 1000).round().astype("Int64"),
    "polars frame": pl.from_pandas(TABLE),
    "polars frame with text": pl.from_pandas(TABLE.assign(name="x")),
    "array": TABLE.to_numpy(),
    "Boolean array": TABLE.to_numpy() > TABLE.median().to_numpy(),
    "list of lists": TABLE.to_numpy().tolist(),
    "wide array": RNG.normal(size=(N, 200)),
    "array in order": np.cumsum(RNG.normal(size=(N, 4)), axis=0),
    "signals": np.cumsum(RNG.normal(size=(N, 64)), axis=1),
    "series of pandas": TABLE["area error"],
    "series of polars": pl.from_pandas(TABLE)["area error"],
    "series of strings": pd.Series(WORDS),
    "series of strings of polars": pl.Series(WORDS),
    "frame of strings": pd.DataFrame({"name": WORDS}),
    "series, (time, channels)": SERIES,
    "series, (channels, time)": [x.T for x in SERIES],
    "series of one channel": [x[:, 0] for x in SERIES],
    "series in an array": np.stack([x[:20].T for x in SERIES]),
    "strings": WORDS,
    "names": NAMES,
    "sequences": [list(word) for word in WORDS],
    "Dask array": dask_array.from_array(TABLE.to_numpy(), chunks=(20, 12)),
    "Boolean Dask array": dask_array.from_array(TABLE.to_numpy() > 1, chunks=(20, 12)),
    "Dask frame": dask_frame.from_pandas(TABLE, npartitions=3),
    "Dask frame with text": dask_frame.from_pandas(TABLE.assign(name="x"), npartitions=3),
    "Dask array of unknown length": (lambda X: X[X[:, 0] > -1])(
        dask_array.from_array(TABLE.to_numpy(), chunks=(20, 12))
    ),
    "series in a Dask array": dask_array.from_array(np.stack([x[:20] for x in SERIES])),
    "series of Dask": dask_frame.from_pandas(TABLE["area error"], npartitions=3),
    "Dask frame of strings": dask_frame.from_pandas(pd.DataFrame({"a": WORDS}), npartitions=3),
    "masked array": np.ma.masked_greater(TABLE.to_numpy(), 200),
    "directed graph": networkx.gn_graph(12, seed=0),
    "sparse matrix": sparse.random_array((N, 30), density=0.2, format="csr", rng=0),
    "graphs": [networkx.gnp_random_graph(6, 0.4, seed=i) for i in range(N)],
    "one graph": networkx.karate_club_graph(),
    "trees": [ast.parse(f"f(x) + {i}" if i % 2 else f"y = {i}") for i in range(N)],
    "sets": [set(word) for word in WORDS],
    "two tables": [TABLE.iloc[:, :4], TABLE.iloc[:, 4:]],
}
TARGETS = {
    "no y": None,
    "names": np.array(["a", "b"])[np.arange(N) % 2],
    "codes": np.arange(N) % 3,
    "grades": pd.Series(1 + np.arange(N) % 4),
    "order": pd.Categorical(
        np.array(["s", "m", "l"])[np.arange(N) % 3], ["s", "m", "l"], ordered=True
    ),
    "numbers": np.linspace(0, 1, N) ** 2,
    "column of numbers": np.linspace(0, 1, N)[:, None] ** 2,
    "two columns": np.linspace(0, 1, 2 * N).reshape(N, 2) ** 2,
}
WITHOUT_TARGET = {
    "series of pandas",
    "series of polars",
    "series of Dask",
    "one graph",
    "directed graph",
    "two tables",
}
CASES = [
    (container, target)
    for container in CONTAINERS
    for target in TARGETS
    if target == "no y" or container not in WITHOUT_TARGET
]


@pytest.mark.few(40)
@pytest.mark.parametrize(("container", "target"), CASES)
def test_every_printed_line_runs_as_pasted(container, target, capsys):
    X = CONTAINERS[container]
    y = TARGETS[target]
    found = skmoderndata.suggest(X, y)
    shown = capsys.readouterr().out
    pasted = [line.removeprefix("   >>> ") for line in shown.splitlines() if ">>>" in line]
    assert "\n".join(pasted) == "\n".join(one.code for one in found)
    for one in found:
        assert one.reason
        assert "on disk" not in one.reason or "Dask" in container
        assert all(accepts_of(name).tier != "textbook" for name in one.names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(one.code, {"X": X, "y": y})
