"""
How good is a batter after 45 attempts?
=======================================

The data are the batting averages of 18 players early in the 1970 season and over the rest of it:
the classic table of Efron and Morris. Averages after few attempts vary by luck. Does it help to
shrink all of them towards their mean?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.covariance import JamesStein

early = np.array([.400, .378, .356, .333, .311, .311, .289, .267, .244, .244,
                  .222, .222, .222, .222, .222, .200, .178, .156])  # fmt: skip
later = np.array([.346, .298, .276, .222, .273, .270, .263, .210, .269, .230,
                  .264, .256, .303, .264, .226, .286, .316, .200])  # fmt: skip
p = early.mean()
model = JamesStein(noise_variance=p * (1 - p) / 45).fit([early])
errors = {
    "average after 45": np.sum((early - later) ** 2),
    "James-Stein": np.sum((model.location_ - later) ** 2),
}

# %%
# Each line connects the early average of a player, the shrunken value, and the average over
# the rest of the season. The estimates keep the order of the players and are much closer to
# the true values overall. They are not closer for every player. Players who were below average
# and stayed there are moved away from their later results, and the estimate for the best
# batter, Clemente, is 0.05 below his later average.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4.2), width_ratios=(2.2, 1), layout="constrained"
)
for start, middle, end in zip(early, model.location_, later, strict=True):
    worse = abs(middle - end) > abs(start - end)
    left.plot([0, 1, 2], [start, middle, end], "o-", color="C3" if worse else "C0", ms=4, lw=1)
left.plot([], [], "o-", color="C3", label="shrinkage hurts")
left.plot([], [], "o-", color="C0", label="shrinkage helps")
left.set_xticks([0, 1, 2], ["after 45 at-bats", "JamesStein", "rest of the season"])
left.set(ylabel="batting average")
left.legend()
right.bar(list(errors), list(errors.values()), color=["0.6", "C0"])
right.set(ylabel="squared error, sum over 18 players")
plt.show()
