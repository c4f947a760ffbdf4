"""Labelled trees and graphs: numbered productions, common subtrees, refined labels.

A collection of trees is stored as three arrays: the labels and the degrees of all nodes in
post-order, and the position at which each tree begins. The folder has co-rooted and all subtrees
(Collins and Duffy 2002), complete subtrees (Vishwanathan and Smola 2003) and the refinement of
labels (Shervashidze et al. 2011). The kernels on trees and `WeisfeilerLehman` call it.
"""
