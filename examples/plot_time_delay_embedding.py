"""
Which lag unfolds an attractor?
===============================

The Lorenz system moves in three dimensions; we measure only its first coordinate, with a little
noise. Windows of three delayed measurements recover the attractor if the delay is right. If the
lag is too short, all windows lie along the diagonal, where the noise is as large as the structure.
If it is too long, the system has forgotten the earlier values.

To test a lag, we read the whole hidden state from a window: the right panel shows how much of the
variance of the three coordinates a nearest neighbour regression explains on the second half of the
series.
"""

# %%
# Simulate one coordinate of the Lorenz system, and compute the lags that three rules choose.

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp
from sklearn.neighbors import KNeighborsRegressor

from skmoderndata.preprocessing import TimeDelayEmbedding


def lorenz(_, s):
    return [10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]


times = np.arange(20, 140, 0.02)
state = solve_ivp(lorenz, (0, 140), [1, 1, 20], t_eval=times, rtol=1e-8, atol=1e-8).y.T
rng = np.random.default_rng(0)
x = state[:, :1] + 0.3 * rng.normal(size=(len(state), 1))

chosen = {
    rule: TimeDelayEmbedding(lag="auto", lag_rule=rule).fit(x).lag_
    for rule in ("mutual_information", "1/e", "zero")
}
print(chosen)


# %%
# For each lag: embed, learn the state from the windows of the first half, predict the second.


def explained(lag):
    embedding = TimeDelayEmbedding(n_lags=3, lag=lag).fit(x)
    complete = embedding.complete_rows(x)
    Z, Y = embedding.transform(x)[complete], state[complete]
    half = len(Z) // 2
    return KNeighborsRegressor(10).fit(Z[:half], Y[:half]).score(Z[half:], Y[half:])


lags = np.array([1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 90, 128, 181])
scores = [explained(lag) for lag in lags]

# %%
# Plot the hidden attractor, three unfoldings, and the explained variance.

fig = plt.figure(figsize=(11, 5.5), layout="constrained")
grid = fig.add_gridspec(2, 4)
panels = [("hidden state", state[:, 0], state[:, 2])]
for label, lag in [
    ("too short", 1),
    ("mutual information", chosen["mutual_information"]),
    ("too long", 128),
]:
    embedding = TimeDelayEmbedding(n_lags=2, lag=lag).fit(x)
    Z = embedding.transform(x)[embedding.complete_rows(x)]
    panels.append((f"{label}: lag {lag}", Z[:, 0], Z[:, 1]))
for i, (title, a, b) in enumerate(panels):
    ax = fig.add_subplot(grid[i // 2, i % 2])
    ax.plot(a[:3000], b[:3000], lw=0.4)
    ax.set_title(title)
    ax.set_xlabel("$x(t)$")
    ax.set_ylabel("$z(t)$" if i == 0 else r"$x(t - \tau)$")
ax = fig.add_subplot(grid[:, 2:])
ax.semilogx(lags, scores, "o-", color="black")
for (rule, lag), color in zip(chosen.items(), ("C2", "C1", "C3"), strict=True):
    ax.axvline(lag, color=color, label=f"{rule.replace('_', ' ')}: lag {lag}")
ax.set_title("state explained by windows of three values")
ax.set_xlabel("lag")
ax.set_ylabel(r"$R^2$ on the second half")
ax.legend(loc="lower left")
plt.show()
