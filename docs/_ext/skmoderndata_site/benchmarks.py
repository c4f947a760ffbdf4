"""The list of pages with measured figures."""


def render(docs):
    """Markdown: a toctree of `docs/benchmarks`, or a sentence while there is none."""
    pages = sorted(path.stem for path in (docs / "benchmarks").glob("*.md"))
    if not pages:
        return "No figures are written down yet.\n"
    entries = [f"/benchmarks/{page}" for page in pages]
    return "\n".join(["```{toctree}", ":maxdepth: 2", "", *entries, "```", ""])
