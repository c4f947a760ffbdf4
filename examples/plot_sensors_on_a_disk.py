"""
Which slow signal is hidden in a file of sensors?
=================================================

A machine has 32 sensors that are read ten times a second for a day, which gives a file of 110
MB. The file is small so that the example is fast, but nothing below would change with 100 GB.
The load of the machine varies within seconds and dominates every sensor; its wear changes over
hours. Which signal do slow features find in the file, which one do principal components find,
and how much of the file is read?
"""

# %%
# Write the file in chunks; the wear is known only to us.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import IncrementalPCA

from skmoderndata.decomposition import SlowFeatureAnalysis

N_ROWS, N_SENSORS, BLOCK = 864_000, 32, 108_000
hours = np.arange(N_ROWS) / 36_000
wear = np.sin(2 * np.pi * hours / 11) + 0.5 * np.sin(2 * np.pi * hours / 5 + 1)
rng = np.random.default_rng(0)
of_load, of_wear = rng.normal(size=(3, N_SENSORS)), 0.15 * rng.normal(size=N_SENSORS)
periods = np.array([7.1, 3.3, 1.9])  # seconds

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "sensors.npy"
file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(N_ROWS, N_SENSORS))
for first in range(0, N_ROWS, BLOCK):
    rows = slice(first, first + BLOCK)
    load = np.sin(2 * np.pi * 3600 * hours[rows, None] / periods)
    noise = 0.1 * rng.standard_normal((BLOCK, N_SENSORS), dtype=np.float32)
    file[rows] = load @ of_load + wear[rows, None] * of_wear + noise
del file

# %%
# A memory map is a table whose rows are read when they are needed. Slow features are computed
# in one pass, 64 MiB at a time; the outputs for its rows are computed in the same way. Slow
# means that the feature changes little within a minute, which is 600 rows: from one row to the
# next, the noise changes more than the load. The class IncrementalPCA of scikit-learn works in
# chunks as well.

sensors = np.load(path, mmap_mode="r")
slow = SlowFeatureAnalysis(n_components=1, lag=600).fit(sensors)
pca = IncrementalPCA(n_components=1)
for first in range(0, N_ROWS, BLOCK):
    pca.partial_fit(sensors[first : first + BLOCK])
signals = {
    "slow feature": slow.transform(sensors)[:, 0],
    "first principal component": pca.transform(sensors[::600])[:, 0],
}
correlations = {
    name: abs(np.corrcoef(signal[:: len(signal) // 1440], wear[::600])[0, 1])
    for name, signal in signals.items()
}
for name, correlation in correlations.items():
    print(f"{name}: correlation with the wear {correlation:.4f}")

# %%
# Plot one reading per minute. The wear affects the sensors far less than the load does, so the
# first principal component is the load; only its slowness distinguishes the wear.

fig, axes = plt.subplots(3, 1, figsize=(9, 6), layout="constrained", sharex=True)
axes[0].plot(hours[::600], sensors[::600, 0], ".", color="0.5", markersize=3)
axes[0].set_title("One sensor of 32, every minute", fontsize=10)
for ax, (name, signal), color in zip(axes[1:], signals.items(), ["C3", "C0"], strict=True):
    shown = signal[:: len(signal) // 1440]
    shown = (shown - shown.mean()) / shown.std()
    shown *= np.sign(np.corrcoef(shown, wear[::600])[0, 1])
    ax.plot(hours[::600], shown, ".", color=color, markersize=3)
    ax.plot(hours[::600], wear[::600] / wear.std(), "k:", label="wear")
    ax.set_title(f"The {name}: correlation {correlations[name]:.2f}", fontsize=10)
    ax.legend(loc="upper right")
axes[-1].set(xlabel="hours", xlim=(0, 24))
folder.cleanup()
plt.show()
