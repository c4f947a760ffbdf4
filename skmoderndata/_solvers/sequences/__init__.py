"""Sequences of symbols: windows and their counts, mismatches, subsequences with gaps, edits.

A collection is stored as two arrays: the concatenated symbol numbers of all sequences, and the
position at which each sequence begins. The kernels on strings use counts of substrings (Leslie et
al. 2002), of neighbours within a Hamming distance (Leslie et al. 2004) and of subsequences (Lodhi
et al. 2002). `metrics` and `preprocessing` use edit distances (Wagner and Fischer 1974; Hyyro
2003), and `metrics` uses alignments with gaps (Needleman and Wunsch 1970; Smith and Waterman
1981).
"""
