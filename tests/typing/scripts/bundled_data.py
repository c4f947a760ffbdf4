"""Load bundled data."""

from skmoderndata.datasets import load_blosum62, load_peptides

scores: dict[tuple[str, str], int] = load_blosum62()
strings, labels = load_peptides(return_X_y=True)
lengths: list[int] = [len(string) for string in strings]
