"""Large margins: quadratic programs on a simplex or in a box, core sets, planes of few features.

Core sets, for core vector machines (Tsang, Kwok and Cheung 2005) and minimum enclosing balls
(Badoiu and Clarkson 2008): `core_set` searches for violators, `core` solves on the core set with
`simplex_qp`, `core_problems` defines the problems and `certificates` computes their duality gaps.

Quadratic programs in a box: `box_qp` steps along pairs of weights (Fan, Chen and Lin 2005),
`box_machines` states the machines that it solves, and `nu_ranking` adds steps along four weights
and, through `ranking_faces`, along all free ones.

Further solvers: ranking with implicit pairs (Kuo, Lee and Lin 2014), the zero-norm machine (Weston
et al. 2003), and Newton steps for the squared hinge loss of a linear function (Keerthi and
DeCoste 2005). `svm` and `ranking` call these modules.
"""
