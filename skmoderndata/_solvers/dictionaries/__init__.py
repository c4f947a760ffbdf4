"""Dictionaries, fixed and learned.

`fixed` builds cosines and wavelets; `ksvd` is K-SVD (Aharon, Elad and Bruckstein 2006),
`lagrange_dictionary` the dual step of Lee et al. (2006), `sparsenet` Olshausen and Field (1996),
`neural_gas` Martinetz et al. (1993) and its version for atoms; `class_dictionaries` tells classes
apart; `patches` takes images apart and puts them together. Called by the dictionary learners in
`decomposition`, `image` and `sparse_coding`, and by `NeuralGas`.
"""
