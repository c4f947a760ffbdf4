"""Sparse codes of many signals for a given dictionary.

`greedy`: OMP (Pati et al. 1993). `matching_pursuit`: the original method (Mallat and Zhang 1993),
and OMP for groups and for codes >= 0. `thresholding`: IHT, HTP, CoSaMP, subspace pursuit. `lasso`:
`homotopy`, `feature_sign`, `coordinate_descent` (Efron et al. 2004; Lee et al. 2006), based on
`lasso_signal`; `bounded_lasso`; `proximal`. `groups`: the group lasso (Yuan and Lin 2006), by
`group_lasso` and `group_newton`; `group_logistic`, with the logistic loss (Meier et al. 2008).
Shared modules: `signal_blocks` prepares the dictionary and collects the codes; `gram_rows`
computes inner products of atoms on demand; `supports` fits many signals at a time; `cholesky`
grows, shrinks and solves a factor; `gaps` computes duality gaps; `products` has the inner loops.
`SparseCoder`, `GroupLasso` and all dictionary learners use these functions.
"""
