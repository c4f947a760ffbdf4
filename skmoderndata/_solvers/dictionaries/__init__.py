"""Dictionaries, fixed and learned.

`fixed` builds cosines and wavelets; `ksvd` is K-SVD (Aharon, Elad and Bruckstein 2006),
`lagrange_dictionary` the dual step of Lee et al. (2006), `sparsenet` Olshausen and Field (1996),
`neural_gas` Martinetz et al. (1993) and its version for atoms; `class_dictionaries` learns to
separate classes; `patches` splits images into patches and reassembles them. The dictionary
learners in `decomposition`, `image` and `sparse_coding`, and `NeuralGas`, use these functions.
"""
