"""Recovery of signals from few measurements.

- `basis_pursuit`: minimal l1 norm with a matrix (Chen, Donoho and Saunders 1998), by the lasso
  path (`homotopy`, Osborne, Presnell and Turlach 2000), an `interior_point` method (Mehrotra
  1992), the simplex method or cvxpy; `optimality` has its duality gap and the solution for signs.
- `noise_level`: the bound that predicts best, by cross-validation over the lasso path.
- `l1_recovery`: the same with operators: `primal_dual` (Chambolle and Pock 2011) and
  `support_newton`, for an `l1_problem`.
- `operator_pursuit`: greedy pursuit with operators, and their interface for hard thresholding;
  `conjugate_gradients` solves on supports.
- `recovery`: selects among these methods. `measurements` and `bases` define the operators.
- `coherence`: guarantees from inner products (Tropp 2004); `phase_transition`: limits of recovery
  (Donoho and Tanner 2009).

`BasisPursuit`, `CompressedSensing`, `SparseRecovery`, `phase_transition` and the functions on
dictionaries use these modules.
"""
