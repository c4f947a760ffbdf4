"""Signals from few measurements.

- `basis_pursuit`: least l1 norm with a matrix (Chen, Donoho and Saunders 1998), by the lasso path
  (`homotopy`, Osborne, Presnell and Turlach 2000), an `interior_point` method (Mehrotra 1992), the
  simplex method or as stated; `optimality` has its duality gap and the solution for signs.
- `noise_level`: the bound that predicts best, by cross-validation over the lasso path.
- `l1_recovery`: the same with operators: `primal_dual` (Chambolle and Pock 2011) and
  `support_newton`, on an `l1_problem`.
- `operator_pursuit`: greedy pursuit with operators, and what hard thresholding needs to know of
  them; `conjugate_gradients` solves on supports.
- `recovery`: which of these runs when. `measurements` and `bases` are the operators.
- `coherence`: what inner products promise (Tropp 2004); `phase_transition`: what is recovered
  (Donoho and Tanner 2009).

Called by `BasisPursuit`, `CompressedSensing`, `SparseRecovery`, `phase_transition` and the
functions on dictionaries.
"""
