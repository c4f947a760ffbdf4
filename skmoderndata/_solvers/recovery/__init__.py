"""Signals from few measurements.

Basis pursuit and its noisy form (Chen, Donoho and Saunders 1998), l1 recovery with operators
(van den Berg and Friedlander 2008), greedy recovery, measurement operators and bases, what
coherence promises (Tropp 2004), and phase transitions (Donoho and Tanner 2009). Called by
`BasisPursuit`, `CompressedSensing`, `SparseRecovery` and `phase_transition`.
"""
