"""Matrix completion by the nuclear norm."""

import numpy as np

from benchmarks.papers import PRINTED, THEORY, Entry, value


def values(quick):
    from skmoderndata.impute import NuclearNormImputer

    found = []
    settings = [(400, 10, 0.30)] if quick else [(400, 10, 0.30), (1000, 10, 0.12)]
    for n, rank, share in settings:
        rng = np.random.default_rng(0)
        M = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n))
        known = rng.random((n, n)) < share
        model = NuclearNormImputer(alpha=0, center=False, scale=False)
        filled = np.asarray(model.fit_transform(np.where(known, M, np.nan)))
        error = np.linalg.norm(filled - M) / np.linalg.norm(M)
        nuclear = np.linalg.norm(filled, "nuc") / np.linalg.norm(M, "nuc")
        setting = f"{n} x {n}, rank {rank}, {100 * share:.0f} % known"
        found += [
            value(setting, "relative error", "< 1e-3", PRINTED, error, holds=error < 1e-3),
            value(
                setting,
                "nuclear norm relative to the true matrix",
                "at most 1",
                THEORY,
                nuclear,
                holds=nuclear <= 1 + 1e-4,
            ),
        ]
    return found


ENTRY = Entry(
    title="Matrix completion by the nuclear norm",
    cites="Cai, Candès, Shen: A singular value thresholding algorithm for matrix completion. SIAM "
    "Journal on Optimization 20(4), 2010; Candès, Li, Ma, Wright 2011, section 4.2.",
    source=(
        "Candès et al. 2011, section 4.2 (arXiv:0912.3599), declare recovery if the relative "
        "error is below 1e-3, for products of Gaussian factors with n = 400. Cai et al. "
        "report in their abstract (arXiv:0810.3286) that 1000 x 1000 matrices are recovered "
        "in less than a minute. The tables of the paper were not available, so we chose the "
        "rank and the fraction of known entries."
    ),
    values=values,
)
