"""Scores of alignments with gaps: all pairs of peptides, and a pair of long sequences."""

import numpy as np

from benchmarks.peers import Case, Contender, at_least

GAP_COST = 11.0
EXTENSION_COST = 1.0


def work(size, rng):
    """Peptides of the bundled set, or random sequences of amino acids of one length."""
    from skmoderndata.datasets import load_blosum62, load_peptides

    n, length, mode = size
    if length is None:
        X, _ = load_peptides(return_X_y=True)
        X = [X[i] for i in rng.permutation(len(X))[:n]]
    else:
        X = ["".join(rng.choice(list("ARNDCQEGHILKMFPSTWYV"), size=length)) for _ in range(n)]
    return X, load_blosum62(), mode


def quality(data, answers):
    """Sum of the scores: the same for all contenders."""
    return {"sum of scores": float(np.sum(answers))}


def ours(data):
    from skmoderndata.metrics import pairwise_alignment

    X, scores, mode = data
    return pairwise_alignment(
        X,
        list(X),  # compute all pairs, as the peer does
        mode=mode,
        substitution_scores=scores,
        gap_cost=GAP_COST,
        extension_cost=EXTENSION_COST,
    )


def biopython(data):
    from Bio.Align import PairwiseAligner, substitution_matrices

    X, _, mode = data
    aligner = PairwiseAligner(
        mode=mode,
        substitution_matrix=substitution_matrices.load("BLOSUM62"),
        open_gap_score=-GAP_COST,
        extend_gap_score=-EXTENSION_COST,
    )
    return [[aligner.score(x, z) for z in X] for x in X]


SIZES = {
    "100 peptides, local": (100, None, "local"),
    "100 peptides, global": (100, None, "global"),
    "8 sequences of 500, local": (8, 500, "local"),
    "4 sequences of 2,000, local": (4, 2000, "local"),
}

CASE = Case(
    title="Alignments with gaps",
    question="How fast does each library compute alignment scores of amino acid sequences?",
    remarks="The contenders score all ordered pairs of the sequences, including each sequence "
    "with itself, with BLOSUM62 and affine gaps. They compute scores only, in one thread.",
    ours="pairwise_alignment",
    sizes=SIZES,
    quick_sizes={"30 peptides, local": (30, None, "local")},
    warmup=(5, None, "local"),
    repeat=3,
    work=work,
    contenders={
        "pairwise_alignment": Contender(
            run=ours, peer=False, note="`metric=None`, which returns the scores"
        ),
        "biopython": Contender(
            run=biopython, requires="biopython>=1.85", note="`PairwiseAligner`"
        ),
    },
    quality=quality,
    figures={"sum of scores": "sum over all pairs, which is the same for both contenders"},
    targets=(
        at_least("at least as fast as biopython", "biopython", "ratio", 1, sizes=tuple(SIZES)),
    ),
)
