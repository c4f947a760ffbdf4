"""
How sparse must a signal be for exact recovery?
===============================================

Random sparse signals of 100 values are recovered from Gaussian measurements. The maps are
white where all signals are recovered, and black where none is. Basis pursuit changes from one
to the other along the curve that theory predicts for very long signals. The matching pursuits
are given the number of non-zeros, and recover normally distributed coefficients beyond that
curve; coefficients of equal size are harder for them, but no harder for basis pursuit.
"""

import matplotlib.pyplot as plt

from skmoderndata.sparse_coding import PhaseTransitionDisplay, SparseRecovery

figure, axes = plt.subplots(2, 3, figsize=(11, 7), sharex=True, sharey=True)
methods = ("basis_pursuit", "omp", "subspace_pursuit")
for row, coefficients in zip(axes, ("gaussian", "signs"), strict=True):
    for ax, method in zip(row, methods, strict=True):
        PhaseTransitionDisplay.from_estimator(
            SparseRecovery(algorithm=method),
            n_features=100,
            delta=(0.1, 0.25, 0.4, 0.55, 0.7, 0.85),
            rho=(0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75),
            n_trials=10,
            coefficients=coefficients,
            random_state=0,
            ax=ax,
            name=f"{method}, {coefficients}",
        )
        ax.label_outer()
figure.tight_layout()
plt.show()
