"""
Can I recover a signal from ten samples?
========================================

Two tones are sampled at ten random places of a window of ten seconds: far fewer samples than
the sampling theorem requires. Recovery in the Fourier basis finds both tones, because it looks
for few of them. Ten samples are not always enough. The right panel shows how often the signal
is recovered from random places as the number of samples grows. Orthogonal matching pursuit is
given the number of terms (two), and basis pursuit is not. The tones lie on the frequencies of
the window; between them they would not be sparse.
"""

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.sparse_coding import SparseRecovery

n, window = 128, 10.0
t = np.arange(n) * window / n
signal = np.sin(2.3 * 2 * np.pi * t) - 0.5 * np.sin(5.4 * 2 * np.pi * t)

# %%
# Draw ten places for which both methods succeed. A sample is a measurement with a row of the
# identity.

seen = np.sort(np.random.default_rng(0).choice(n, 10, replace=False))
rows = np.eye(n)[seen]
found = {
    "orthogonal matching pursuit": SparseRecovery("fourier", "omp", n_nonzero_coefs=2),
    "basis pursuit": SparseRecovery("fourier", "basis_pursuit"),
}
for name, model in found.items():
    model.fit(rows, signal[seen])
    error = np.linalg.norm(model.coef_ - signal) / np.linalg.norm(signal)
    print(f"{name}: {np.count_nonzero(model.codes_)} terms, relative error {error:.1e}")

# %%
# Make two hundred draws for each number of samples.

numbers, draws = np.arange(4, 21, 2), 200
rates = {name: [] for name in found}
for m in numbers:
    hits = dict.fromkeys(found, 0)
    for draw in range(draws):
        seen_now = np.random.default_rng(draw).choice(n, m, replace=False)
        for name, model in found.items():
            guess = model.fit(np.eye(n)[seen_now], signal[seen_now]).coef_
            hits[name] += np.linalg.norm(guess - signal) < 1e-3 * np.linalg.norm(signal)
    for name in found:
        rates[name].append(hits[name] / draws)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), width_ratios=(2, 1))
left.plot(t, signal, color="0.75", lw=4, label="signal")
for name, model in found.items():
    left.plot(t, model.fit(rows, signal[seen]).coef_, lw=1, label=name)
left.plot(t[seen], signal[seen], "ko", ms=6, label="ten samples")
left.set(xlabel="seconds", xlim=(0, window), ylim=(-1.7, 2.6), ylabel="signal")
left.legend(ncols=2, fontsize=8, loc="upper right")
for name, rate in rates.items():
    right.plot(numbers, rate, "o-", ms=4, label=name)
right.axvline(10, color="0.7", ls=":")
right.set(xlabel="samples", ylabel="fraction of draws recovered", ylim=(0, 1.05))
right.legend(fontsize=8)
figure.tight_layout()
plt.show()
