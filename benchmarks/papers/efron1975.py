"""Batting averages of 18 players after 45 at-bats, and over the rest of the season."""

import numpy as np

from benchmarks.papers import PRINTED, Entry, value

PLAYERS = (
    "Clemente", "F. Robinson", "F. Howard", "Johnstone", "Berry", "Spencer", "Kessinger",
    "L. Alvarado", "Santo", "Swoboda", "Unser", "Williams", "Scott", "Petrocelli",
    "E. Rodriguez", "Campaneris", "Munson", "Alvis",
)  # fmt: skip
AVERAGES = np.array([
    0.400, 0.378, 0.356, 0.333, 0.311, 0.311, 0.289, 0.267, 0.244, 0.244, 0.222, 0.222, 0.222,
    0.222, 0.222, 0.200, 0.178, 0.156,
])  # fmt: skip
SEASON = np.array([
    0.346, 0.298, 0.276, 0.222, 0.273, 0.270, 0.263, 0.210, 0.269, 0.230, 0.264, 0.256, 0.303,
    0.264, 0.226, 0.286, 0.316, 0.200,
])  # fmt: skip
PRINTED_ESTIMATES = {"Clemente": 0.294, "Alvis": 0.242}


def values(quick):
    from skmoderndata.covariance import JamesStein

    mean = AVERAGES.mean()
    model = JamesStein(noise_variance=mean * (1 - mean) / 45).fit([AVERAGES])

    # compare the players whose estimates the paper prints
    found = [
        value(
            player,
            "estimate from 45 at-bats",
            f"{printed:.3f}",
            PRINTED,
            float(model.location_[PLAYERS.index(player)]),
            holds=round(model.location_[PLAYERS.index(player)], 3) == printed,
        )
        for player, printed in PRINTED_ESTIMATES.items()
    ]

    raw = float(np.sum((AVERAGES - SEASON) ** 2))
    shrunk = float(np.sum((model.location_ - SEASON) ** 2))

    # compare the factor by which all averages shrink towards their mean, and the gain
    found.append(
        value(
            "all players",
            "factor of the distance to the mean",
            "0.212",
            PRINTED,
            model.shrinkage_,
            holds=round(model.shrinkage_, 3) == 0.212,
        )
    )

    found.append(
        value(
            "all players",
            "squared error of the averages divided by the error of the estimates",
            "3.5",
            PRINTED,
            raw / shrunk,
            holds=round(raw / shrunk, 1) == 3.5,
        )
    )

    return found


ENTRY = Entry(
    title="Batting averages by James and Stein's estimate",
    cites="Efron, Morris: Data analysis using Stein's estimator and its generalizations. Journal "
    "of the American Statistical Association 70, 1975; Stein's paradox in statistics. Scientific "
    "American 236, 1977.",
    source=(
        "the article of 1977. Its table lists the averages of 18 players after 45 at-bats, "
        "the estimates for the first and the last player, and the averages over the rest of "
        "the season. Its text gives the factor and the ratio of the errors."
    ),
    values=values,
    remarks=(
        "We shrink the averages without a transformation and use the variance of a binomial "
        "proportion at the mean of all players. The article of 1975 first applies an "
        "arcsine, which gives almost the same numbers."
    ),
)
