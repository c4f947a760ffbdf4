"""Wrong bits of Boolean factorisations of four tables, Kovács, Günlük and Hauser 2021."""

import numpy as np

from benchmarks.papers import PRINTED, Entry, value
from benchmarks.papers._sources import folder

# Name of the environment variable with the folder of the authors' repository.
SOURCE = "BMF_SOURCE"
NUMBERS = (2, 5, 10)
# Wrong bits with 2, 5 and 10 components: of the program of Miettinen and others, of the same with
# local search, and of the integer program, after half an hour for each.
ASSO = {
    "zoo": (367, 354, 377),
    "heart": (1251, 887, 694),
    "lymp": (1352, 1484, 1525),
    "apb": (778, 719, 661),
}
WITH_SEARCH = {
    "zoo": (276, 133, 55),
    "heart": (1187, 738, 419),
    "lymp": (1202, 1039, 812),
    "apb": (776, 694, 591),
}
INTEGER_PROGRAM = {
    "zoo": (272, 126, 39),
    "heart": (1185, 737, 425),
    "lymp": (1192, 982, 728),
    "apb": (776, 684, 573),
}
# Fraction of the printed number of wrong bits that ours may have in addition.
LARGEST_EXCESS = 0.02


def values(quick):
    source = folder(SOURCE)
    if source is None:
        return []

    found = []
    for name in ("zoo",) if quick else ASSO:
        X = np.loadtxt(source / "data" / f"{name}.txt").astype(bool)
        for k, asso, search, program in zip(
            NUMBERS, ASSO[name], WITH_SEARCH[name], INTEGER_PROGRAM[name], strict=True
        ):
            ours = wrong_bits(X, k)
            setting = f"{name}, {k} components"
            found += [
                value(setting, "wrong bits, compared with ASSO", f"at most {asso}", PRINTED, ours,
                      holds=ours <= asso),
                value(setting, f"wrong bits, compared with ASSO with local search "
                      f"(integer program: {program})", str(search), PRINTED, ours,
                      holds=ours <= (1 + LARGEST_EXCESS) * search),
            ]  # fmt: skip
    return found


def wrong_bits(X, n_clusters):
    """Number of bits that differ from the Boolean product."""
    from skmoderndata.cluster import DiscreteBasis

    model = DiscreteBasis(n_clusters).fit(X)
    return round(model.reconstruction_err_ * X.size)


ENTRY = Entry(
    title="Wrong bits of Boolean factorisations",
    cites="Kovács, Günlük, Hauser: Binary matrix factorisation via column generation. AAAI "
    "Conference on Artificial Intelligence, 2021; Binary matrix factorisation and completion via "
    "integer programming. arXiv:2106.13434, 2021.",
    source=(
        "the files `ASSO.csv`, `ASSO++.csv` and `MLP1_time1200_MIP_time600.csv` in the "
        "folder `experiments/real_data` of the authors' repository "
        "rank_k_Binary_Matrix_Factorisation, with the results for tables without gaps."
    ),
    values=values,
    not_reached=("heart, 5 components", "heart, 10 components"),
    remarks=(
        "`DiscreteBasis` is the method of ASSO, followed by alternating updates of both factors; "
        "ASSO with local search also updates its result. On heart, with 5 and 10 components, "
        "`DiscreteBasis` has 5 and 11 % more wrong bits than ASSO with local search. Twenty "
        "thresholds of association in "
        "place of ten (773 and 460 wrong bits), and other costs of ones and zeros in the search "
        "(768 and 468), also fail to reach the printed values, so the difference lies in the "
        "local search. On lymp, all three errors are below the errors of the integer program, "
        "which was stopped after half an hour. The tables are "
        f"not shipped here: set `{SOURCE}` to the folder of the authors' repository."
    ),
)
