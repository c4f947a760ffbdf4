"""Labelled trees and graphs: numbers of productions, common subtrees, refined labels.

A collection of trees is three arrays, labels and degrees of all nodes in post-order and where each
tree begins. Co-rooted and all subtrees (Collins and Duffy 2002), complete subtrees (Vishwanathan
and Smola 2003), refinement of labels (Shervashidze et al. 2011). Called by the kernels on trees
and by `WeisfeilerLehman`.
"""
