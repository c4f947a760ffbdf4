"""Sequences of symbols: windows and their counts, mismatches, subsequences with gaps, edits.

A collection is two arrays: the symbol numbers of all sequences, one after the other, and where
each begins. Counts of substrings (Leslie et al. 2002), of neighbours within a Hamming distance
(Leslie et al. 2004) and of subsequences (Lodhi et al. 2002), called by the kernels on strings;
edit distances (Wagner and Fischer 1974; Hyyro 2003), called by `metrics` and `preprocessing`;
alignments with gaps (Needleman and Wunsch 1970; Smith and Waterman 1981), called by `metrics`.
"""
