"""
Can I learn a slow feature while the signal comes in?
=====================================================

Two fast signals hide a slow sine. Incremental slow feature analysis sees one row at a time and
keeps no matrix; the exact method keeps two. How close does the incremental method come, and how
soon?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.datasets import make_slow_signal
from skmoderndata.decomposition import (
    IncrementalSlowFeatureAnalysis,
    SlowFeatureAnalysis,
    SlowSignalsDisplay,
)

X, slow = make_slow_signal(2000)
exact = SlowFeatureAnalysis(n_components=1, degree=2).fit(X)

# %%
# Pass the signal to the stream 30 times.

online = IncrementalSlowFeatureAnalysis(n_components=1, degree=2, random_state=0)
agreement = []
for _ in range(30):
    online.partial_fit(X)
    agreement.append(abs(np.corrcoef(online.transform(X)[:, 0], slow)[0, 1]))
print(f"correlation with the slow sine: stream {agreement[-1]:.5f}, ", end="")
print(f"exact {abs(np.corrcoef(exact.transform(X)[:, 0], slow)[0, 1]):.7f}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(12, 3), layout="constrained")
axes[0].plot(X[:700], lw=0.8)
axes[0].set(title="the two signals (part)", xlabel="row")
axes[1].semilogy(np.arange(1, 31), 1 - np.array(agreement), "o-", ms=3)
axes[1].set(title="1 - correlation with the sine", xlabel="passes over the signal")
sign = np.sign(np.corrcoef(online.transform(X)[:, 0], slow)[0, 1])
SlowSignalsDisplay.from_estimator(online, X, ax=axes[2], label="stream")
axes[2].plot(sign * np.sqrt(2) * np.asarray(slow), "--", color="C1", lw=1, label="truth")
axes[2].set(title="slowest feature")
axes[2].legend()
plt.show()
