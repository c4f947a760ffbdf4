"""Large margins: quadratic programs on a simplex, core sets, and planes of few features.

Minimum enclosing balls and core vector machines (Badoiu and Clarkson 2008; Tsang, Kwok and Cheung
2005), ranking with implicit pairs (Kuo, Lee and Lin 2014), the zero-norm machine (Weston et al.
2003). `core_set` searches, `core` solves on what was found with `simplex_qp`, `core_problems` says
what is solved, `certificates` how far it is from the optimum. `box_qp` steps along pairs of
weights (Fan, Chen and Lin 2005), `box_machines` states the machines that it solves, and
`nu_ranking` adds steps of four weights and, by `ranking_faces`, of all free ones, and
`squared_hinge` has the Newton steps of a linear function (Keerthi and DeCoste 2005). Called by
`svm` and `ranking`.
"""
