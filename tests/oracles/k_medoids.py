"""Partitioning around medoids, by trying all exchanges."""

import itertools

import numpy as np


def total_cost(D, weights, medoids):
    """Weighted sum of the distances from the nearest medoid."""
    return sum(w * min(D[i, m] for m in medoids) for i, w in enumerate(weights))


def partition_around_medoids(D, weights, medoids):
    """Make the best of all exchanges until none lowers the cost [Kaufman and Rousseeuw 1990]."""
    medoids = list(medoids)
    cost = total_cost(D, weights, medoids)
    while True:
        exchanges = [
            [*medoids[:j], c, *medoids[j + 1 :]]
            for j in range(len(medoids))
            for c in range(len(D))
            if c not in medoids
        ]
        costs = [total_cost(D, weights, exchange) for exchange in exchanges]
        if not costs or min(costs) >= cost * (1 - 1e-12):
            return sorted(medoids), cost
        medoids = exchanges[int(np.argmin(costs))]
        cost = min(costs)


def best_medoids(D, weights, k):
    """Return the best of all sets of medoids, and its cost."""
    sets = list(itertools.combinations(range(len(D)), k))
    costs = [total_cost(D, weights, medoids) for medoids in sets]
    return sets[int(np.argmin(costs))], min(costs)
